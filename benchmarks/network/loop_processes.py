"""A federated loop whose roles are forked processes: rounds of one float32 vector, timed, with memory and bytes."""

from __future__ import annotations

import gc
import json
import os
import resource
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hekat.channel import PartyKey
from hekat.channel.mailbox import MailboxChannel
from hekat.own_loop.loop_roles import LoopRoles
from hekat.own_loop.party import Party
from hekat.own_loop.turns import Turns
from hekat.protocol.role_session import RoleSession, SessionTerms
from hekat.protocol.secure_sum.masked.upload_state import open_upload_state
from hekat.protocol.secure_sum.settings import CodecSettings, SumSettings
from network.shaped_link import LOOPBACK, Link, ShapedPost, serving

WEIGHT_MAX = 1000
_DIGEST = bytes(32)


@dataclass(frozen=True)
class LoopWork:
    """`rounds` sums of `value_count` values of `parties`; `drop_out` of them end in round 2, before they upload."""

    parties: tuple[str, ...]
    value_count: int
    rounds: int
    drop_out: tuple[str, ...] = ()
    link: Link = LOOPBACK
    lost_after_s: float = 30.0

    @property
    def settings(self) -> SumSettings:
        codec = CodecSettings(value_bits=16, clipping="fixed", alpha=1.0)
        return SumSettings(
            parties=self.parties, aggregator="aggregator", weight_max=WEIGHT_MAX, codec=codec, protection="lattice"
        )


@dataclass
class RoleFigures:
    """What one role measured: when each round ended by the wall clock, memory after each, bytes that left."""

    role: str
    round_ends: list[float] = field(default_factory=list)
    resident_bytes: list[int] = field(default_factory=list)
    peak_bytes: int = 0
    bytes_out: int = 0
    bytes_out_before_rounds: int = 0
    trips: int = 0
    trips_before_rounds: int = 0
    last_mean: list[float] = field(default_factory=list)
    error: str = ""


def play_loop(work: LoopWork) -> dict[str, RoleFigures]:
    """The figures of each role; one that left has none."""
    keys = {name: PartyKey.generate() for name in work.settings.everyone}
    with tempfile.TemporaryDirectory(prefix="hekat-") as folder:
        place = Path(folder)
        pids = {role: _fork(lambda role=role: _play_role(work, role, keys, place)) for role in keys}  # type: ignore[misc]
        for pid in pids.values():
            os.waitpid(pid, 0)
        return {
            role: RoleFigures(**json.loads(path.read_text()))
            for role in keys
            if (path := place / f"{role}.json").is_file()
        }


def values_of(work: LoopWork, party: str) -> np.ndarray:
    """The party's update: uniform in [-0.5, 0.5), of its own seed."""
    rng = np.random.default_rng(work.parties.index(party))
    return rng.random(work.value_count, dtype=np.float32) - np.float32(0.5)


def expected_mean(work: LoopWork, left: Collection[str]) -> np.ndarray:
    """The float mean over the parties that are left, each of weight 1."""
    total = np.zeros(work.value_count)
    for party in left:
        total += values_of(work, party)
    return total / len(left)


def _fork(role: Callable[[], None]) -> int:
    gc.collect()
    pid = os.fork()
    if pid == 0:
        try:
            role()
        finally:
            os._exit(0)
    return pid


def _play_role(work: LoopWork, role: str, keys: dict[str, PartyKey], place: Path) -> None:
    settings = work.settings
    figures = RoleFigures(role)
    post = ShapedPost(place, role, work.link)
    may_be_lost = settings.parties if settings.bears_dropouts else ()
    channel = MailboxChannel(
        role, settings.everyone, post, run_id="bench", timeout_s=600.0, lost_after_s=work.lost_after_s,
        first_contact_s=600.0, may_be_lost=may_be_lost,
    )  # fmt: skip
    terms = SessionTerms("bench", "bench", _DIGEST, {name: key.public for name, key in keys.items()})
    session = RoleSession(terms, keys[role], place / f"{role}.jsonl")
    turns = Turns((role,) if role in settings.parties else ())
    with serving(place, channel, work.link):
        try:
            if role in settings.parties:
                state = open_upload_state(place / "state" / role, _DIGEST, durable=False)
                with state.uploads:
                    roles = LoopRoles(settings, {role: session}, turns, {role: state})
                    roles.play_party(channel, lambda party: _train(work, party, figures, post))
            else:
                with _sampling(channel, figures):
                    LoopRoles(settings, {role: session}, turns).play_server(channel)
        except BaseException as error:
            figures.error = f"{type(error).__name__}: {error}"
            channel.fail(error)
        else:
            channel.finish()
    figures.peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    figures.bytes_out, figures.trips = post.bytes_out, post.trips
    (place / f"{role}.json").write_text(json.dumps(asdict(figures)))


def _train(work: LoopWork, party: Party, figures: RoleFigures, post: ShapedPost) -> Any:
    values = values_of(work, party.name)
    figures.bytes_out_before_rounds, figures.trips_before_rounds = post.bytes_out, post.trips
    figures.round_ends.append(time.time())
    for number in range(1, work.rounds + 1):
        if number == 2 and party.name in work.drop_out:
            os._exit(1)
        mean = party.aggregate({"update": values}, weight=WEIGHT_MAX)["update"]
        figures.round_ends.append(time.time())
        figures.resident_bytes.append(_resident_bytes())
    figures.last_mean = [float(mean[0]), float(mean[-1]), float(np.abs(mean).sum())]


@contextmanager
def _sampling(channel: MailboxChannel, figures: RoleFigures) -> Iterator[None]:
    """Notes the aggregator's memory as it tells the first party of each round's end."""
    send, last = channel.send, ""

    def send_and_note(to: str, step: str, payload: bytes) -> None:
        nonlocal last
        send(to, step, payload)
        step_round = step.partition("/")[0]
        if step_round != last and last.startswith("round-"):
            figures.resident_bytes.append(_resident_bytes())
        last = step_round

    channel.send = send_and_note  # type: ignore[method-assign]
    yield
    figures.resident_bytes.append(_resident_bytes())


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()
