"""Judges every rule of a vertical training before anything is sent, on the rows that will be trained on.

A machine that has the tables of all parties finds the common rows by itself, in the order of the set intersection, and
judges the batches that will be drawn from them. A machine of one party knows its own columns alone: it refuses what
would be refused whichever of its rows are common, and the roles check again, exactly, before numbers leave.
"""

from __future__ import annotations

from collections.abc import Mapping

from hekat.data import Table
from hekat.errors import PolicyError
from hekat.protocol.vertical.batches import batch_count, draw_batches
from hekat.protocol.vertical.columns import prepare_columns
from hekat.protocol.vertical_linear.arbiter.leak_rules import judge_gradients
from hekat.protocol.vertical_linear.columns import may_lack_columns, prepare_targets
from hekat.protocol.vertical_linear.judging.working_cures import find_working_cures
from hekat.protocol.vertical_linear.label_leak.equations import LeakCount, check_equations
from hekat.protocol.vertical_linear.label_leak.label_bits import check_label_bits, most_label_bits
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.shared_weights.factors import check_last_factors
from hekat.protocol.vertical_linear.shared_weights.many_parties.batch_rows import check_batch_rows
from hekat.protocol.vertical_linear.shared_weights.own_columns import encode_own_features, encode_targets
from hekat.protocol.vertical_linear.shared_weights.scales import Scales
from hekat.protocol.vertical_linear.shared_weights.training import check_gram_room


def check_rules(common: Mapping[str, Table], settings: VerticalLinearSettings) -> None:
    """Judge a training on the `common` rows of all parties.

    Raises PolicyError where gradients would tell too much, with cures that were judged by the same rules; and
    InputError, BoundError or JobError as the roles do.
    """
    try:
        judge(common, settings)
    except PolicyError as error:
        if settings.form == "shared_weights":
            raise  # its only rule is about rows in a batch, and says how many will do
        cures = find_working_cures(common, settings, judge)
        raise PolicyError(error.what, expected=error.expected, got=error.got, cure=", or ".join(cures)) from None


def judge(common: Mapping[str, Table], settings: VerticalLinearSettings) -> None:
    """Check what the roles of the job's form check before numbers leave. Raises as `check_rules`."""
    if settings.form == "arbiter":
        judge_gradients(common, settings)
        return
    training, scales = settings.training, Scales(settings.fixed_point, settings.task)
    row_count = min(len(table) for table in common.values())
    batches = draw_batches(row_count, training.batch_rows, training.seed)
    for party, table in common.items():
        columns = prepare_columns(
            table,
            standardise=training.standardise,
            limit_spreads=settings.limit_spreads,
            may_be_empty=may_lack_columns(settings, party),
        )
        encode_own_features(columns.features, scales, party)
    encode_targets(prepare_targets(common[settings.guest], settings), scales, settings.guest)
    scales.check(row_count, max(len(rows) for rows in batches))
    check_last_factors(training, len(batches))
    if settings.quiet_parties:
        check_gram_room(scales, batches)
        check_batch_rows(settings, [table.features.shape[1] for table in common.values()], row_count)


def check_own_table(party: str, table: Table, settings: VerticalLinearSettings) -> None:
    """Judge what one party's own columns tell for certain: the fewest equations, if all of its rows are common.

    Raises PolicyError.
    """
    if settings.form != "arbiter":
        return
    batches = batch_count(len(table), settings.training.batch_rows)
    columns, batch_rows = table.features.shape[1], -(-len(table) // batches)
    # One batch of so many rows: with fewer common rows, batches have no more than that.
    check_equations(LeakCount(party, 1, columns + (party == settings.guest), batch_rows), settings)
    if party != settings.guest and settings.training.standardise:
        # Some feature then is one spread or more from the mean.
        most_bits = most_label_bits(batch_rows, settings)
        check_label_bits(party, columns, settings.fixed_point.feature_bits, batch_rows, most_bits, settings)
