"""The role of the aggregator: it adds what hosts send, and holds neither key nor rows.

1. take the arbiter's key; compare the hosts' columns; tell hosts and arbiter to start
2. add the hosts' masked sums over their rows, and return them
3. each round: add its own share to the arbiter's encrypted one, and pass the encrypted weights on to all hosts; add
   their updates, whose masks cancel; mask the sum over the whole ring, and send it to the arbiter. Its next share
   is what the mask takes off, truncated
4. after the last round, and after each that is reported: send the owner its share
"""

from __future__ import annotations

from hekat.errors import InputError, ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.encrypted_model.arithmetic.affine_map import state_size
from hekat.protocol.encrypted_model.arithmetic.blame import blame
from hekat.protocol.encrypted_model.arithmetic.choose import make_aggregator
from hekat.protocol.encrypted_model.arithmetic.fixed_point import check_room, truncate_aggregator_share
from hekat.protocol.encrypted_model.arithmetic.sides import AggregatorSide
from hekat.protocol.encrypted_model.held_share import HeldShare
from hekat.protocol.encrypted_model.messages import (
    SHARES,
    SUMS,
    UPDATES,
    WEIGHTS,
    KeyMessage,
    ReadyMessage,
    RoundEndMessage,
    StartMessage,
)
from hekat.protocol.encrypted_model.party_run import EncryptedModelRun
from hekat.protocol.encrypted_model.set_up.moments import add_moments
from hekat.protocol.encrypted_model.set_up.same_rounds import check_same_rounds
from hekat.protocol.encrypted_model.settings import EncryptedModelSettings
from hekat.protocol.encrypted_model.steps import KEY_STEP, READY_STEP, SQUARES, START_STEP, round_step
from hekat.protocol.encrypted_model.steps import SUMS as SUMS_STEP
from hekat.protocol.encrypted_model.timing_labels import SUM
from hekat.protocol.encrypted_model.transcript import check_same_transcript


def run_aggregator(channel: RecordedChannel, settings: EncryptedModelSettings, run: EncryptedModelRun) -> None:
    """Serve one run to its end."""
    training = settings.training
    key = channel.receive(settings.arbiter, KEY_STEP, KeyMessage)
    check_same_rounds(settings.arbiter, key.rounds_done, run)
    column_count = _compare_hosts(channel, settings, run)
    size = state_size(column_count, settings)
    check_room(size, settings.target_count, training.rounds)
    shape = (size, settings.target_count)
    side = make_aggregator(channel, settings, key.public_key, shape)
    for name in (*settings.hosts, settings.arbiter):
        channel.send(name, START_STEP, StartMessage(column_count=column_count, rounds_done=run.rounds_done))
    _add_all_moments(channel, settings, column_count)
    held = HeldShare.begin(channel, shape, run)
    if held.rounds_done >= training.rounds:
        held.hand_over(channel, settings, column_count + 1)
    for number in range(held.rounds_done + 1, training.rounds + 1):
        held = _play_round(channel, settings, run, side, held)
        if training.reports(number):
            held.hand_over(channel, settings, column_count + 1)
        run.end_round(channel, held.state(training.rounds))
        if not settings.owner_is_host:
            channel.send(settings.owner, round_step(number, "end"), RoundEndMessage(number))


def _play_round(
    channel: RecordedChannel,
    settings: EncryptedModelSettings,
    run: EncryptedModelRun,
    side: AggregatorSide,
    held: HeldShare,
) -> HeldShare:
    number, protection = held.rounds_done + 1, settings.protection
    share = channel.receive(settings.arbiter, round_step(number, "share"), SHARES[protection])
    check_same_transcript(held.transcript, share.transcript, f"{settings.arbiter} and {settings.aggregator}")
    with run.stopwatch.measure(SUM), blame(settings.arbiter):
        weights = WEIGHTS[protection](side.complete(share.values, held.share))
    for host in settings.hosts:
        channel.send(host, round_step(number, "weights"), weights)
    step, kind = round_step(number, "update"), UPDATES[protection]
    updates = {host: channel.receive(host, step, kind).values for host in settings.hosts}
    with run.stopwatch.measure(SUM):
        total, own = side.add(updates)
    channel.send(settings.arbiter, round_step(number, "sum"), SUMS[protection](total))
    return held.after(truncate_aggregator_share(own), total)


def _compare_hosts(channel: RecordedChannel, settings: EncryptedModelSettings, run: EncryptedModelRun) -> int:
    """How many columns all hosts have. Raises InputError for hosts with different columns, and names both."""
    first = settings.hosts[0]
    ready = {host: channel.receive(host, READY_STEP, ReadyMessage) for host in settings.hosts}
    for host, said in ready.items():
        check_same_rounds(host, said.rounds_done, run)
        if said.columns != ready[first].columns:
            raise InputError(
                f"hosts {first!r} and {host!r} have different columns",
                expected="the same names in the same order",
                got=f"{len(ready[first].columns)} and {len(said.columns)} columns",
                cure="give both files the same columns in the same order, or name the others under ignore",
            )
    if not ready[first].columns:
        raise ProtocolError("hosts say that they have no columns", expected="at least one", got="none")
    return len(ready[first].columns)


def _add_all_moments(channel: RecordedChannel, settings: EncryptedModelSettings, column_count: int) -> None:
    standardise = settings.training.standardise
    count = column_count + (settings.task == "linear")
    add_moments(channel, settings.hosts, SUMS_STEP, 1 + (count if standardise else 0))
    if standardise:
        add_moments(channel, settings.hosts, SQUARES, count)
