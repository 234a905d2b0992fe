"""The shape of what a summary says of the convergence of its training."""

from __future__ import annotations

from typing import Final, get_args

from hekat.protocol.loss_verdict import Course
from hekat.report import shape

CONVERGENCE: Final = shape.nullable(
    shape.record(
        {
            "course": shape.one_of(*get_args(Course)),
            "start": shape.nullable(shape.number),
            "best": shape.nullable(shape.number),
            "last": shape.nullable(shape.number),
            "steps": shape.count,
            "recent": shape.count,
            "fall": shape.number,
            "largest_weight": shape.nullable(shape.amount),
        },
        optional={"noise_std": shape.amount},
    )
)
