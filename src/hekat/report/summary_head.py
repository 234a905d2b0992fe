"""What every summary.json begins with, whatever its protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hekat.report import shape

SUMMARY_HEAD: Final[Mapping[str, shape.Check]] = {
    "run_id": shape.text,
    "job": shape.text,
    "job_digest": shape.text,
    "finished_at": shape.text,
    "versions": shape.map_of(shape.text),
    "machine": shape.map_of(shape.scalar),
    "engine": shape.map_of(shape.nullable(shape.scalar)),
}
