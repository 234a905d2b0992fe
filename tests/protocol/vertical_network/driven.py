"""The interactive layer driven step by step: both sides' loops, with slopes and features that a test chooses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.protocol.vertical_network.rehearsal import GUEST

from hekat.channel import PartyKey
from hekat.ledger import RecordedChannel
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_network.guest_side.loop import GuestLoop
from hekat.protocol.vertical_network.host_side.loop import HostLoop
from hekat.protocol.vertical_network.party_run import NetworkRun
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings

FloatArray = Any


def drive(
    settings: VerticalNetworkSettings,
    row_count: int,
    features: Callable[[str, int], FloatArray],
    slopes: Callable[[int, FloatArray], FloatArray],
    seed: int = 1,
) -> tuple[list[FloatArray], dict[str, list[FloatArray]], dict[str, Any]]:
    """The outputs of every step, the slopes of features at each host, and the addends that are left at each party.

    `features(host, batch)` are a batch's; `slopes(step, outputs)` answers the outputs of a step (the first is 0).
    """
    keys = {name: PartyKey.generate() for name in settings.everyone}
    sessions = make_sessions(keys, run_id="drive", protocol="vertical_network", job_digest=bytes(32))
    opened: list[FloatArray] = []
    heard: dict[str, list[FloatArray]] = {host: [] for host in settings.hosts}

    def run_of(name: str) -> NetworkRun:
        return NetworkRun(Stopwatch(), seed=seed + settings.everyone.index(name))

    def play_guest(channel: RecordedChannel) -> Any:
        loop = GuestLoop(channel, settings, run_of(GUEST), row_count, 0)
        for epoch in range(1, settings.training.epochs + 1):
            for number in range(len(loop.plan.batches)):
                opened.append(loop.forward(epoch, number))
                loop.backward(slopes(len(opened) - 1, opened[-1]))
            loop.end_epoch(epoch, finished=epoch == settings.training.epochs)
        return loop.arrays(with_state=False)

    def play_host(channel: RecordedChannel) -> Any:
        name = channel.party
        loop = HostLoop(channel, settings, run_of(name), row_count, settings.network.width_of(name))
        for epoch in range(1, settings.training.epochs + 1):
            for number in range(len(loop.plan.batches)):
                loop.forward(epoch, number, None if loop.has_features(number) else features(name, number))
                found = loop.backward()
                if found is not None:
                    heard[name].append(found)
            loop.end_epoch(epoch)
        return loop.arrays(with_state=False)

    def play(name: str) -> Callable[[Any], Any]:
        role = play_guest if name == GUEST else play_host
        return lambda channel: sessions[name].play(channel, role)

    arrays = play_in_process({name: play(name) for name in settings.everyone}, timeout_s=60.0)
    return opened, heard, arrays


def chosen(seed: int, rows: dict[int, int], width: int) -> Callable[[str, int], FloatArray]:
    """Features of each host's batches, normal and below 4 in magnitude."""

    def features(host: str, number: int) -> FloatArray:
        rng = np.random.default_rng([seed, number, len(host)])
        return np.clip(rng.normal(size=(rows[number], width)), -4, 4)

    return features
