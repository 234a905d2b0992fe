"""The shape of what a summary says of the convergence of its training."""

from __future__ import annotations

from typing import Final

from hekat.report import shape

CONVERGENCE: Final = shape.nullable(
    shape.record(
        {
            "course": shape.one_of("too short", "falling", "settled", "clipped", "rising", "diverged"),
            "start": shape.nullable(shape.number),
            "best": shape.nullable(shape.number),
            "last": shape.nullable(shape.number),
            "steps": shape.count,
            "recent": shape.count,
            "fall": shape.number,
            "largest_weight": shape.nullable(shape.amount),
        }
    )
)
