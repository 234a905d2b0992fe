"""The shape of summary.json of a set intersection."""

from __future__ import annotations

from typing import Final

from hekat.report import shape
from hekat.report.party_views import PARTY_VIEW
from hekat.report.summary_head import SUMMARY_HEAD

_SETTINGS = shape.record(
    {
        "guest": shape.text,
        "hosts": shape.list_of(shape.text, least=1),
        "kind": shape.one_of("ecdh", "rsa_blind"),
        "learns": shape.list_of(shape.text, least=1),
        "cardinality_only": shape.one_of(True, False),
    },
    {"key_bits": shape.count},
)
_PARTY = shape.record(
    {
        "name": shape.text,
        "role": shape.one_of("guest", "host"),
        "ids": shape.count,
        "padded": shape.count,
        "learned": shape.one_of("rows", "count", "nothing"),
    }
)

PSI_SUMMARY: Final = shape.record(
    {
        **SUMMARY_HEAD,
        "settings": _SETTINGS,
        "parties": shape.list_of(_PARTY, least=2),
        "common": shape.count,
        "seconds": shape.record({"total": shape.amount}),
        "seconds_by_role": shape.map_of(shape.map_of(shape.amount)),
        "bytes": shape.record({"by_role": shape.map_of(shape.record({"sent": shape.count, "received": shape.count}))}),
        "seen": shape.list_of(PARTY_VIEW),
        "notes": shape.list_of(shape.text),
    }
)
