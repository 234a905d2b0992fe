"""Refuses jobs with an arbiter whose gradients would tell too much whichever rows turn out to be common.

Parties count again, exactly, once they know the common rows and before they send anything of labels or columns.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hekat.data import Table
from hekat.protocol.vertical_linear.batches import draw_batches
from hekat.protocol.vertical_linear.columns import prepare_columns, prepare_targets
from hekat.protocol.vertical_linear.label_leak.column_rows import check_column_rows
from hekat.protocol.vertical_linear.label_leak.equations import LeakCount, check_equations, check_leverage
from hekat.protocol.vertical_linear.label_leak.label_bits import check_label_bits, least_label_bits, most_label_bits
from hekat.protocol.vertical_linear.label_leak.leverage import count_high_leverage_columns
from hekat.protocol.vertical_linear.label_leak.number_bits import check_number_bits
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings


def check_leaks(tables: Mapping[str, Table], settings: VerticalLinearSettings, *, are_common: bool) -> None:
    """Raise PolicyError where a rule refuses the job for certain; `are_common`: all parties have the rows.

    The fewest equations over rows come from one full batch; a row's leverage is smallest among all rows.
    """
    training = settings.training
    most_rows = min(len(table) for table in tables.values())
    batch_rows = min(training.batch_rows or most_rows, most_rows)
    batches = draw_batches(most_rows, training.batch_rows, training.seed)
    label_bits = most_label_bits(batch_rows, settings)
    targets = prepare_targets(tables[settings.guest], settings).values
    if are_common:
        batch_rows = max(len(rows) for rows in batches)
        label_bits = least_label_bits(targets, batches, settings)
    for party in (*settings.hosts, settings.guest):
        table = tables[party]
        column_count = table.features.shape[1]
        check_equations(LeakCount(party, 1, column_count + (party == settings.guest), batch_rows), settings)
        if party != settings.guest and training.standardise:
            # Some feature then is one spread or more from the mean.
            feature_bits = settings.fixed_point.feature_bits
            check_label_bits(party, column_count, feature_bits, batch_rows, label_bits, settings)
            if are_common:
                check_number_bits(party, column_count, feature_bits, targets, batches, settings)
        if are_common:
            columns = prepare_columns(table, standardise=training.standardise, limit_spreads=settings.limit_spreads)
            high = count_high_leverage_columns(columns.features, [np.arange(len(table))])
            check_leverage(LeakCount(party, 1, column_count, batch_rows, high), settings)
            if party != settings.guest and training.standardise:
                # Before they are rounded columns have fewer values alike, so more rows in which they differ.
                check_column_rows(party, columns.features, batches, settings.fixed_point.feature_bits, settings)
