"""The role of a host: it has columns and no labels.

1. prepare its columns and its bottom; tell the guest its rows, batches and width; both split first weights
2. each batch: give its share of the interactive layer's outputs under masks that cancel over the hosts
3. multiply its features with the guest's encrypted slopes, and move its addend of the weights by its share
4. where its bottom trains: learn the slopes of its features, and move the bottom
5. each epoch: the same for held-out rows; hear whether another one follows; save its part
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from hekat.data import Table, check_has_no_labels
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical_network.host_side.loop import HostLoop
from hekat.protocol.vertical_network.model_part import NetworkPart
from hekat.protocol.vertical_network.own_features import OwnFeatures, prepare_own_features
from hekat.protocol.vertical_network.party_run import NetworkRecord, NetworkRun, NetworkState
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings
from hekat.protocol.vertical_network.timing_labels import NETWORK, PLAIN
from hekat.protocol.vertical_network.trained_part import make_part


def run_host(channel: RecordedChannel, table: Table, settings: VerticalNetworkSettings, run: NetworkRun) -> NetworkPart:
    """Train with the others; returns this host's part of the model."""
    check_has_no_labels(table)
    with run.stopwatch.measure(PLAIN):
        own = prepare_own_features(channel, table, settings, run)
    loop = HostLoop(channel, settings, run, len(table), own.width)
    epochs = run.epochs_done
    finished = loop.start.finished
    while not finished:
        epochs += 1
        for number in range(len(loop.plan.batches)):
            _play_batch(loop, own, run, epochs, number)
        _play_held_out(loop, own, run, epochs)
        finished, cut_share = loop.end_epoch(epochs)
        rate = settings.training.taken_rate(loop.plan.most_rows)
        record = NetworkRecord(epochs, clipped_share=cut_share, shared_rate=rate)
        state = NetworkState(_arrays(loop, own, with_state=True), epochs, finished, model_id=loop.start.model_id)
        run.end_epoch(channel, state, record)
    return make_part(channel.party, settings, loop.start, table, own, epochs, _arrays(loop, own, with_state=False))


def _play_batch(loop: HostLoop, own: OwnFeatures, run: NetworkRun, epoch: int, number: int) -> None:
    bottom, features = own.bottom, None
    assert bottom is not None
    if not loop.has_features(number):
        with run.stopwatch.measure(NETWORK):
            features = bottom.forward(own.columns[loop.plan.batches[number]])
    loop.forward(epoch, number, features)
    slopes = loop.backward()
    if slopes is not None:
        with run.stopwatch.measure(NETWORK):
            bottom.step(bottom.backward(slopes / len(slopes)))


def _play_held_out(loop: HostLoop, own: OwnFeatures, run: NetworkRun, epoch: int) -> None:
    bottom = own.bottom
    assert bottom is not None
    if len(loop.plan.held_out):
        with run.stopwatch.measure(NETWORK):
            features = bottom.evaluate(own.columns[loop.plan.held_out])
        loop.held_out(epoch, features)


def _arrays(loop: HostLoop, own: OwnFeatures, *, with_state: bool) -> dict[str, npt.NDArray[Any]]:
    return own.arrays(with_state=with_state) | loop.arrays(with_state=with_state)
