"""The shapes that the summaries of all runs on columns have."""

from __future__ import annotations

from typing import Final

from hekat.report import shape

PARTY: Final = shape.record(
    {
        "name": shape.text,
        "role": shape.one_of("guest", "host", "arbiter"),
        "rows": shape.nullable(shape.count),
        "columns": shape.nullable(shape.count),
        "class_rows": shape.nullable(shape.map_of(shape.count)),
    }
)
INTERSECTION: Final = shape.record(
    {
        "kind": shape.one_of("ecdh", "rsa_blind", "aligned"),
        "sizes": shape.map_of(shape.count),
        "common": shape.count,
        "seconds": shape.amount,
    }
)
BYTES: Final = shape.record(
    {
        "by_role": shape.map_of(
            shape.record(
                {
                    "sent": shape.count,
                    "received": shape.count,
                    "by_step": shape.map_of(shape.record({"sent": shape.count, "received": shape.count})),
                }
            )
        ),
        "ciphertext_bytes": shape.nullable(shape.count),
    }
)
SECONDS: Final = shape.record(dict.fromkeys(("total", "intersection", "training", "prediction"), shape.amount))
