"""The report of a horizontal run for a terminal: its tables, and its findings as short paragraphs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hekat.report.horizontal.aggregator_table import aggregator_table
from hekat.report.horizontal.brief import training_sentence
from hekat.report.horizontal.byte_text import byte_table
from hekat.report.horizontal.clipping import clip_table
from hekat.report.horizontal.dropouts import dropout_sentences, sample_sentences
from hekat.report.horizontal.findings import clipping_sentence, difference_sentences, exactness_sentences, verdict
from hekat.report.horizontal.precision_sweep import precision_sentence, precision_table
from hekat.report.horizontal.privacy.words import budget_sentence, privacy_sentence, privacy_table
from hekat.report.horizontal.tables import result_table, time_table
from hekat.report.horizontal.validation_tables import (
    fold_sentence,
    fold_table,
    fold_warning,
    validation_round_table,
    validation_sentence,
    validation_table,
)
from hekat.report.table import Table, metric_names
from hekat.report.view import Finding


def terminal_tables(summary: Mapping[str, Any]) -> list[Table]:
    """Results where there are any, validation, bits, time, bytes, clipping. Marked cells carry an asterisk."""
    validated = (validation_table(summary), validation_round_table(summary), fold_table(summary))
    bits, clipped = precision_table(summary), clip_table(summary)
    results = result_table(summary) if metric_names(summary) else None
    tables = (results, *validated, bits, privacy_table(summary), time_table(summary), byte_table(summary), clipped)
    return [_star(table) for table in tables if table is not None]


def terminal_findings(summary: Mapping[str, Any]) -> list[Finding]:
    """What the run found, who was lost, whether its sums are right, what was clipped, what the aggregator could see."""
    lost, sampled = dropout_sentences(summary), sample_sentences(summary)
    measured = (validation_sentence(summary), fold_sentence(summary), fold_warning(summary))
    sentences = (training_sentence(summary), *measured, precision_sentence(summary))
    told = [line for line in sentences if line]
    private = [sentence for sentence in (privacy_sentence(summary), budget_sentence(summary)) if sentence]
    return [
        Finding("What came out", [verdict(summary), *difference_sentences(summary), *told]),
        *([Finding("Whose updates are in the sums", sampled)] if sampled else []),
        *([Finding("Lost on the way", lost)] if lost else []),
        *([Finding("What the model may tell", private)] if private else []),
        Finding("Is the encrypted sum right?", exactness_sentences(summary)),
        Finding("Clipped values", [clipping_sentence(summary)]),
        Finding("What the aggregator could see (from its signed ledger)", aggregator_lines(summary)),
        Finding("Keep in mind", list(summary["notes"])),
    ]


def aggregator_lines(summary: Mapping[str, Any]) -> list[str]:
    """What the aggregator was sent, a line for each kind of thing."""
    table = aggregator_table(summary)
    width = max((len(row[1]) for row in table.rows if "," not in row[1]), default=0)
    lines = [f"{step:<{width}}  {how}: {what}, from {peers}" for how, step, peers, what in table.rows]
    return [*lines, table.note]


def _star(table: Table) -> Table:
    rows = tuple(
        tuple(f"{cell} *" if (row, column) in table.marked else cell for column, cell in enumerate(cells))
        for row, cells in enumerate(table.rows)
    )
    return replace(table, rows=rows, note=table.note.replace("Marked:", "*:"), marked=frozenset())
