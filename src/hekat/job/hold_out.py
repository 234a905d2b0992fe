"""The fraction of rows that a job without folds holds out to measure on."""

from __future__ import annotations

from hekat.errors import JobError
from hekat.job.section import Section
from hekat.protocol.vertical.hold_out import MAX_HOLD_OUT


def read_hold_out_fraction(section: Section, no_folds: JobError) -> float:
    """`hold_out` of the section [validation], which is read to its end. Raises JobError; `no_folds` where it has
    folds."""
    fraction = section.take("hold_out", float, 0.0)
    if "folds" in section.remaining():
        raise no_folds
    section.finish()
    if not 0 <= fraction <= MAX_HOLD_OUT:
        raise JobError(
            "validation.hold_out refused",
            expected=f"0, or a fraction of up to {MAX_HOLD_OUT}",
            got=str(fraction),
            cure="correct validation.hold_out in the job",
        )
    return fraction


def refuse_two_measures(fraction: float, test_data: str | None) -> None:
    """Raise JobError where a job measures on rows that it holds out and on test data too."""
    if fraction and test_data is not None:
        raise JobError(
            "a job measures on test_data or on rows that it holds out",
            expected="one of the two",
            got="test_data and validation.hold_out",
            cure="leave out one of them",
        )
