"""The shape of summary.json of a vertical regression, as `hekat.job.vertical_linear` writes it."""

from __future__ import annotations

from typing import Final

from hekat.report import shape
from hekat.report.convergence_shape import CONVERGENCE
from hekat.report.party_views import PARTY_VIEW
from hekat.report.summary_head import SUMMARY_HEAD, SUMMARY_HEAD_MORE
from hekat.report.vertical.summary import BYTES, INTERSECTION, PARTY, SECONDS

_SETTINGS = shape.record(
    {
        "form": shape.one_of("arbiter", "shared_weights"),
        "protection": shape.one_of("paillier", "lattice", "none"),
        "guest": shape.text,
        "hosts": shape.list_of(shape.text, least=1),
        "receivers": shape.list_of(shape.text, least=1),
    },
    {
        "arbiter": shape.nullable(shape.text),
        "key_bits": shape.nullable(shape.count),
        "score_bits": shape.count,
        "label_privacy": shape.number,
        "label_leak_accepted": shape.nullable(shape.text),
        "column_leak_accepted": shape.nullable(shape.text),
    },
)
_RESULT = shape.record(
    {
        "name": shape.text,
        "kind": shape.one_of("encrypted", "plain", "centralised", "scikit-learn", "alone"),
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
        "gradient_error_bound": shape.map_of(shape.amount),
        "seconds": shape.nullable(shape.amount),
    }
)
_LEARNED = shape.record(
    {"party": shape.text, "equations": shape.count, "rows": shape.count, "waived": shape.one_of(True, False)}
)
_CHECK = shape.record({"step": shape.text, "largest_error": shape.amount, "bound": shape.amount})

VERTICAL_SUMMARY: Final = shape.record(
    {
        **SUMMARY_HEAD,
        "settings": _SETTINGS,
        "parties": shape.list_of(PARTY, least=1),
        "task": shape.one_of("classification", "regression"),
        "test_rows": shape.nullable(shape.count),
        "results": shape.list_of(_RESULT),
        "compared": shape.nullable(_COMPARED),
        "intersection": INTERSECTION,
        "test_intersection": shape.nullable(INTERSECTION),
        "prediction_receivers": shape.list_of(shape.text),
        "epochs": shape.list_of(_EPOCH),
        "stopped_early": shape.one_of(True, False),
        "seconds": SECONDS,
        "seconds_by_role": shape.map_of(shape.map_of(shape.amount)),
        "seconds_by_part": shape.map_of(shape.map_of(shape.amount)),
        "bytes": BYTES,
        "learned": shape.list_of(_LEARNED),
        "seen": shape.list_of(PARTY_VIEW),
        "exactness": shape.list_of(_CHECK),
        "notes": shape.list_of(shape.text),
    },
    {
        **SUMMARY_HEAD_MORE,
        "started_from": shape.nullable(shape.text),
        "test_rows_trained_on": shape.count,
        "convergence": CONVERGENCE,
    },
)
