"""A job's settings of validation: rows held out, rounds between validations, bins of scores."""

from __future__ import annotations

from dataclasses import dataclass

from hekat.protocol.setting_checks import refuse_setting

MAX_HOLD_OUT = 0.9
MAX_EVERY = 10**6
MIN_BINS, MAX_BINS = 2, 4096
# Scores of so many bins, classes and sides travel as a counter each.
MAX_SCORE_COUNTERS = 2**15


@dataclass(frozen=True)
class ValidationSettings:
    """`hold_out` is the fraction of every party's rows that training leaves out; 0 means no validation.

    `every`: rounds between validations. `auc`: whether scores are counted, in `bins` bins for each class (of two
    classes: for one of them); None where there are classes.
    """

    hold_out: float = 0.0
    every: int = 1
    auc: bool | None = None
    bins: int = 64

    @property
    def counts_scores(self) -> bool:
        """Whether scores are counted, in a job with classes."""
        return self.auc is not False


def check_validation(validation: ValidationSettings, classes: tuple[str, ...] | None) -> None:
    """Raise InputError for settings that cannot be, or that would have no effect."""
    if not validation.hold_out:
        if validation != ValidationSettings():
            refuse_setting(
                "validation.hold_out", "a fraction above 0, since there are other settings of validation", "nothing"
            )
        return
    if not 0 < validation.hold_out <= MAX_HOLD_OUT:
        refuse_setting("validation.hold_out", f"a fraction above 0, up to {MAX_HOLD_OUT}", validation.hold_out)
    if not 1 <= validation.every <= MAX_EVERY:
        refuse_setting("validation.every", f"a whole number from 1 to {MAX_EVERY}", validation.every)
    if not MIN_BINS <= validation.bins <= MAX_BINS:
        refuse_setting("validation.bins", f"a whole number from {MIN_BINS} to {MAX_BINS}", validation.bins)
    if validation.auc and classes is None:
        refuse_setting("validation.auc", "nothing, since the job has no classes", "true")
    if not (validation.counts_scores and classes) and validation.bins != ValidationSettings.bins:
        refuse_setting("validation.bins", "nothing, since no scores are counted", validation.bins)
    scored = 1 if classes is None or len(classes) == 2 else len(classes)
    if classes and validation.counts_scores and 2 * scored * validation.bins > MAX_SCORE_COUNTERS:
        most = MAX_SCORE_COUNTERS // (2 * scored)
        refuse_setting("validation.bins", f"at most {most} for {len(classes)} classes, or auc = false", validation.bins)
