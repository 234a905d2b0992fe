"""The shape of summary.json of a split network, as `hekat.summary.vertical_network` writes it."""

from __future__ import annotations

from typing import Final

from hekat.report import shape
from hekat.report.convergence_shape import CONVERGENCE
from hekat.report.party_views import PARTY_VIEW
from hekat.report.summary_head import SUMMARY_HEAD, SUMMARY_HEAD_MORE
from hekat.report.vertical.summary import BYTES, INTERSECTION, PARTY, SECONDS

_SETTINGS = shape.record(
    {
        "protection": shape.one_of("lattice", "none"),
        "guest": shape.text,
        "hosts": shape.list_of(shape.text, least=1),
        "receivers": shape.list_of(shape.text, least=1),
        "form": shape.text,
        "host_bottom": shape.one_of("frozen", "source", "trained"),
        "units": shape.count,
        "epochs": shape.count,
    },
    {
        "rotation_accepted": shape.text,
        "label_privacy": shape.number,
        "labels_accepted": shape.text,
        "slopes_accepted": shape.text,
        "bottoms": shape.list_of(shape.text),
        "top": shape.text,
    },
)
_RESULT = shape.record(
    {
        "name": shape.text,
        "kind": shape.one_of("encrypted", "plain", "centralised"),
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
_EPOCH = shape.record(
    {
        "epoch": shape.count,
        "loss": shape.nullable(shape.number),
        "validation_loss": shape.nullable(shape.number),
        "clipped_share": shape.map_of(shape.amount),
        "seconds": shape.nullable(shape.amount),
    }
)
_LEARNED = shape.record({"host": shape.text, "features": shape.count, "directions": shape.count})

NETWORK_SUMMARY: Final = shape.record(
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
        "started_from": shape.nullable(shape.text),
        "bottoms": shape.map_of(shape.text),
        "bottom_code": shape.map_of(shape.text),
        "shared_rate": shape.nullable(shape.amount),
        "epochs": shape.list_of(_EPOCH),
        "stopped_early": shape.one_of(True, False),
        "convergence": CONVERGENCE,
        "learned": shape.list_of(_LEARNED),
        "seconds": SECONDS,
        "seconds_by_role": shape.map_of(shape.map_of(shape.amount)),
        "seconds_by_part": shape.map_of(shape.map_of(shape.amount)),
        "bytes": BYTES,
        "seen": shape.list_of(PARTY_VIEW),
        "notes": shape.list_of(shape.text),
    },
    {**SUMMARY_HEAD_MORE, "top": shape.nullable(shape.text), "top_code": shape.text},
)
