"""The shape of summary.json of trees across columns, as `hekat.summary.vertical_trees` writes it."""

from __future__ import annotations

from typing import Final

from hekat.report import shape
from hekat.report.convergence_shape import CONVERGENCE
from hekat.report.party_views import PARTY_VIEW
from hekat.report.summary_head import SUMMARY_HEAD, SUMMARY_HEAD_MORE
from hekat.report.trees.shapes import IMPORTANCE, ITERATION, drawn_tree
from hekat.report.vertical.summary import BYTES, INTERSECTION, PARTY, SECONDS

_SETTINGS = shape.record(
    {
        "protection": shape.one_of("lattice", "paillier", "none"),
        "guest": shape.text,
        "hosts": shape.list_of(shape.text, least=1),
        "receivers": shape.list_of(shape.text, least=1),
        "hide_partition": shape.one_of(True, False),
        "min_samples_leaf": shape.count,
        "max_iter": shape.count,
    },
    {"key_bits": shape.nullable(shape.count), "bin_leak_accepted": shape.text, "label_privacy": shape.number},
)
_RESULT = shape.record(
    {
        "name": shape.text,
        "kind": shape.one_of("encrypted", "plain", "centralised", "scikit-learn"),
        "metrics": shape.map_of(shape.number),
    }
)
_COMPARED = shape.record(
    {
        "rows": shape.count,
        "largest_score_difference": shape.amount,
        "loss": shape.nullable(shape.number),
        "centralised_loss": shape.nullable(shape.number),
    }
)

TREES_SUMMARY: Final = shape.record(
    {
        **SUMMARY_HEAD,
        "settings": _SETTINGS,
        "parties": shape.list_of(PARTY, least=1),
        "task": shape.one_of("classification", "regression"),
        "test_rows": shape.nullable(shape.count),
        "test_rows_trained_on": shape.count,
        "results": shape.list_of(_RESULT),
        "compared": shape.nullable(_COMPARED),
        "intersection": INTERSECTION,
        "test_intersection": shape.nullable(INTERSECTION),
        "prediction_receivers": shape.list_of(shape.text),
        "iterations": shape.list_of(ITERATION),
        "stopped_early": shape.one_of(True, False),
        "convergence": CONVERGENCE,
        "importance": shape.list_of(IMPORTANCE),
        "trees": shape.list_of(drawn_tree),
        "seconds": SECONDS,
        "seconds_by_role": shape.map_of(shape.map_of(shape.amount)),
        "seconds_by_part": shape.map_of(shape.map_of(shape.amount)),
        "bytes": BYTES,
        "seen": shape.list_of(PARTY_VIEW),
        "notes": shape.list_of(shape.text),
    },
    {**SUMMARY_HEAD_MORE, "started_from": shape.nullable(shape.text)},
)
