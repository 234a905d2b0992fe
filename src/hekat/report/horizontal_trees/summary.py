"""The shape of summary.json of trees across rows, as `hekat.summary.horizontal_trees` writes it."""

from __future__ import annotations

from typing import Any, Final

from hekat.report import shape
from hekat.report.convergence_shape import CONVERGENCE
from hekat.report.horizontal.summary import INCLUDED, LOSS, PARTY, ROLE_BYTES, VALIDATION
from hekat.report.summary_head import SUMMARY_HEAD, SUMMARY_HEAD_MORE
from hekat.report.trees.shapes import IMPORTANCE, ITERATION, drawn_tree

_SETTINGS = shape.record(
    {
        "protection": shape.one_of("lattice", "paillier", "none"),
        "aggregator": shape.text,
        "leader": shape.text,
        "min_samples_leaf": shape.count,
        "max_iter": shape.count,
    },
    {
        "key_bits": shape.count,
        "classes": shape.nullable(shape.list_of(shape.text)),
        "opening": shape.text,
        "openers": shape.list_of(shape.text),
        "openers_needed": shape.count,
        "min_parties": shape.count,
        "security": shape.text,
        "privacy_noise": shape.number,
        "privacy_delta": shape.number,
        "privacy_neighbours": shape.text,
        "privacy_colluders": shape.count,
    },
)
_RESULT = shape.record(
    {
        "name": shape.text,
        "kind": shape.one_of("encrypted", "plain"),
        "metrics": shape.map_of(shape.number),
        "validation": VALIDATION,
    }
)
_SECONDS = shape.nullable(shape.amount)

_SUMMARY: Final = shape.record(
    {
        **SUMMARY_HEAD,
        "settings": _SETTINGS,
        "parties": shape.list_of(PARTY),
        "task": shape.one_of("classification", "regression"),
        "test_rows": shape.nullable(shape.count),
        "test_rows_trained_on": shape.count,
        "results": shape.list_of(_RESULT, least=1),
        "iterations": shape.list_of(ITERATION),
        "stopped_early": shape.one_of(True, False),
        "convergence": CONVERGENCE,
        "importance": shape.list_of(IMPORTANCE),
        "trees": shape.list_of(drawn_tree),
        "seconds": shape.record({"encrypted": _SECONDS, "plain": _SECONDS, "key": _SECONDS}),
        "seconds_by_step": shape.map_of(shape.amount),
        "seconds_by_role": shape.map_of(shape.map_of(shape.amount)),
        "bytes": shape.record({"by_role": ROLE_BYTES, "per_iteration": shape.nullable(shape.count)}),
        "lost": shape.list_of(LOSS),
        "included": shape.list_of(INCLUDED),
        "aggregator_saw": shape.list_of(shape.text),
        "aggregator_saw_steps": shape.list_of(shape.text),
        "notes": shape.list_of(shape.text),
    },
    SUMMARY_HEAD_MORE,
)


def check_row_trees_summary(value: Any) -> shape.Fault | None:
    """The fault in a summary; only the summary of a role without rows names no party."""
    fault = _SUMMARY(value)
    if fault is None and not value["parties"] and value.get("played") != "alone":
        return ".parties", "a list with at least 1 entries"
    return fault
