"""What noise in masked integers is worth: the arithmetic of one sum, and the privacy loss of many."""

from hekat.privacy.accounting.calibrate import noise_for
from hekat.privacy.accounting.mechanism import (
    NoisedSum,
    fit_to_lane,
    sensitivity_of,
    sum_error,
    usual_colluders,
)
from hekat.privacy.accounting.releases import (
    NEIGHBOURS,
    Neighbours,
    Release,
    Releases,
    count_releases,
    epsilon_if_continuous,
    epsilon_of,
)

__all__ = [
    "NEIGHBOURS",
    "Neighbours",
    "NoisedSum",
    "Release",
    "Releases",
    "count_releases",
    "epsilon_if_continuous",
    "epsilon_of",
    "fit_to_lane",
    "noise_for",
    "sensitivity_of",
    "sum_error",
    "usual_colluders",
]
