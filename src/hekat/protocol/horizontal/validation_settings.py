"""A job's settings of validation: rows held out or folds, rounds between validations, bins of scores."""

from __future__ import annotations

from dataclasses import dataclass

from hekat.errors import InputError
from hekat.protocol.setting_checks import refuse_setting

MAX_HOLD_OUT = 0.9
MAX_EVERY = 10**6
MIN_FOLDS, MAX_FOLDS = 2, 100
MIN_BINS, MAX_BINS = 2, 4096
# Scores of so many bins, classes and sides travel as a counter each.
MAX_SCORE_COUNTERS = 2**15


@dataclass(frozen=True)
class ValidationSettings:
    """`hold_out` is the fraction of every party's rows that training leaves out; 0 means none.

    `folds`: into how many parts each party's rows are cut; for each part one more model is trained without it, and
    measured on it; 0 means no cross-validation. `every`: rounds between validations of rows held out. `auc`: whether
    scores are counted, in `bins` bins for each class (of two classes: for one of them); None where there are classes.
    """

    hold_out: float = 0.0
    folds: int = 0
    every: int = 1
    auc: bool | None = None
    bins: int = 64

    @property
    def counts_scores(self) -> bool:
        """Whether scores are counted, in a job with classes."""
        return self.auc is not False

    @property
    def is_on(self) -> bool:
        """Whether models are measured on rows that they were not trained on."""
        return self.hold_out > 0 or self.folds > 0


def check_validation(validation: ValidationSettings, classes: tuple[str, ...] | None) -> None:
    """Raise InputError for settings that cannot be, or that would have no effect."""
    if not (validation.hold_out or validation.folds):
        if validation != ValidationSettings():
            refuse_setting(
                "validation.hold_out", "a fraction above 0, since there are other settings of validation", "nothing"
            )
        return
    if validation.folds:
        _check_folds(validation)
    elif not 0 < validation.hold_out <= MAX_HOLD_OUT:
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


def _check_folds(validation: ValidationSettings) -> None:
    if not MIN_FOLDS <= validation.folds <= MAX_FOLDS:
        refuse_setting("validation.folds", f"0, or a whole number from {MIN_FOLDS} to {MAX_FOLDS}", validation.folds)
    if validation.hold_out:
        raise InputError(
            "folds and rows held out measure a model in two ways",
            expected="validation.folds or validation.hold_out",
            got="both",
            cure="leave one of them out: with folds every row is held out once",
        )
    if validation.every != ValidationSettings.every:
        refuse_setting("validation.every", "nothing, since each fold is measured once, at its end", validation.every)
