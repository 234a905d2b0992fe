"""The shape of summary.json of a training on an encrypted model, as `hekat.summary.encrypted_model` writes it."""

from __future__ import annotations

from typing import Final

from hekat.report import shape
from hekat.report.convergence_shape import CONVERGENCE
from hekat.report.party_views import PARTY_VIEW
from hekat.report.summary_head import SUMMARY_HEAD, SUMMARY_HEAD_MORE
from hekat.report.vertical.summary import BYTES

_SETTINGS = shape.record(
    {
        "protection": shape.one_of("lattice", "paillier", "none"),
        "hosts": shape.list_of(shape.text, least=1),
        "arbiter": shape.text,
        "aggregator": shape.text,
        "owner": shape.text,
        "model": shape.text,
        "rounds": shape.count,
    },
    {"key_bits": shape.count, "classes": shape.nullable(shape.list_of(shape.text)), "learning_rate": shape.amount},
)
_ROLE = shape.record(
    {
        "name": shape.text,
        "roles": shape.list_of(shape.one_of("host", "owner", "arbiter", "aggregator"), least=1),
        "rows": shape.nullable(shape.count),
        "held_out": shape.count,
        "columns": shape.nullable(shape.count),
        "class_rows": shape.nullable(shape.map_of(shape.count)),
    }
)
_RESULT = shape.record(
    {"name": shape.text, "kind": shape.one_of("encrypted", "plain"), "metrics": shape.map_of(shape.number)}
)

ENCRYPTED_MODEL_SUMMARY: Final = shape.record(
    {
        **SUMMARY_HEAD,
        "settings": _SETTINGS,
        "parties": shape.list_of(_ROLE, least=1),
        "task": shape.one_of("classification", "regression"),
        "test_rows": shape.nullable(shape.count),
        "test_rows_trained_on": shape.count,
        "measured_on": shape.nullable(shape.one_of("test data", "held-out rows", "training rows")),
        "columns": shape.nullable(shape.count),
        "training_rows": shape.nullable(shape.count),
        "results": shape.list_of(_RESULT, least=1),
        "opened": shape.list_of(shape.record({"rounds_done": shape.count, "metrics": shape.map_of(shape.number)})),
        "rounds": shape.list_of(shape.record({"round": shape.count, "seconds": shape.nullable(shape.amount)})),
        "convergence": CONVERGENCE,
        "seconds": shape.record({"total": shape.amount}),
        "seconds_by_role": shape.map_of(shape.map_of(shape.amount)),
        "bytes": BYTES,
        "seen": shape.list_of(PARTY_VIEW),
        "notes": shape.list_of(shape.text),
    },
    SUMMARY_HEAD_MORE,
)
