"""The beginning of a training among three parties or more: all meet, set up, and the holders go on alone."""

from __future__ import annotations

from hekat.data import Table
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical_linear.columns import Targets
from hekat.protocol.vertical_linear.party_run import PartyRun
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.shared_weights.cross_products.slots import check_result_count
from hekat.protocol.vertical_linear.shared_weights.handshake import Meeting, meet_all
from hekat.protocol.vertical_linear.shared_weights.many_parties.batch_rows import check_batch_rows
from hekat.protocol.vertical_linear.shared_weights.many_parties.gathered_gradients import GatheredGradients
from hekat.protocol.vertical_linear.shared_weights.many_parties.holder_pair import make_holder_pair
from hekat.protocol.vertical_linear.shared_weights.many_parties.places import Places
from hekat.protocol.vertical_linear.shared_weights.many_parties.quiet_training import QuietTraining
from hekat.protocol.vertical_linear.shared_weights.many_parties.set_up import SetUp
from hekat.protocol.vertical_linear.shared_weights.scales import Scales
from hekat.protocol.vertical_linear.shared_weights.training import (
    KEPT_PRODUCTS,
    SharedTraining,
    begin_check,
    begin_training,
    begin_weights,
    check_gram_room,
    prepare,
)


def begin(
    channel: RecordedChannel, table: Table, settings: VerticalLinearSettings, run: PartyRun, targets: Targets | None
) -> SharedTraining | QuietTraining:
    """Prepare this party's columns, meet all others, and come to where the first epoch begins.

    `targets` are the guest's. Raises as `begin_training`; with three parties or more also PolicyError for batches of
    too few rows, and ProtocolError for products and addends of another shape.
    """
    if not settings.quiet_parties:
        return begin_training(channel, table, settings, run, targets)
    scales = Scales(settings.fixed_point, settings.task)
    own, side = prepare(channel, table, settings, run, targets, scales)
    # A guest that holds no shares has all its products under the keys of hosts.
    key_owners = (*settings.holders, *settings.hosts)
    meeting = meet_all(channel, side, settings.parties, settings.guest, run.stopwatch, key_owners)
    counts = [meeting.column_counts[name] for name in settings.parties]
    check_batch_rows(settings, counts, own.row_count)
    check_gram_room(scales, own.batches)
    check_result_count(_count_results(settings, meeting, len(own.batches)))
    places = Places.of(settings.holders, settings.quiet_parties, meeting.column_counts)
    quiet = QuietTraining(channel, settings, run, own, scales)
    begin_check(run, own, targets, quiet.error_bound())
    _note_holders(channel, settings)
    integers = own.dense_integers()
    products = SetUp(channel, settings, own, integers, places, meeting.cross_products, scales, run.stopwatch)
    gathered = [] if quiet.finished else products.play()
    if channel.party not in settings.holders:
        return quiet
    pair = make_holder_pair(
        channel,
        settings.holders,
        meeting,
        scales,
        run.stopwatch,
        key_bits=settings.key_bits,
        target_count=settings.column_count,
    )
    weights = begin_weights(pair, settings, run, len(own.batches))
    gradients = GatheredGradients(pair, integers, own.targets, own.batches, gathered)
    owners = {name: places.ranges[name] for name in settings.parties}
    return SharedTraining(channel, settings, run, own, pair, weights, gradients, owners)


def _note_holders(channel: RecordedChannel, settings: VerticalLinearSettings) -> None:
    channel.ledger.note("setup", KEPT_PRODUCTS, "public")
    first, second = settings.holders
    what = (
        f"{first} and {second} hold the shares of weights and of products of columns; "
        "both together, and nobody else, could put them together"
    )
    channel.ledger.note("setup", what, "public")


def _count_results(settings: VerticalLinearSettings, meeting: Meeting, batch_count: int) -> int:
    """How many results all parties open at most: each pair's products once, then the holders' steps."""
    targets, size = settings.column_count, 1 + sum(meeting.column_counts.values())
    by_step = 2 * targets * (size + 1)
    return batch_count * (size * (size + targets) + settings.training.epochs * by_step)
