"""What is refused in a model's file whichever protocol it is of: names that lie, and numbers beyond reason."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from hekat.errors import HekatError
from hekat.job.section import control_character

# Products of larger numbers leave the range of floats.
MOST_PARAMETER: Final = 1e100
UNREADABLE: Final = (HekatError, KeyError, TypeError, ValueError, OverflowError, AttributeError, IndexError)
"""What reading a file made to do harm can raise."""


def check_names(what: str, names: object) -> None:
    """Raise ValueError unless these are a list of different texts that a terminal shows as they are."""
    if not (isinstance(names, list) and all(isinstance(text, str) for text in names)):
        raise ValueError(f"{what} that are no list of texts")
    if len(set(names)) != len(names):
        raise ValueError(f"{what} that repeat")
    if any(map(control_character, names)):
        raise ValueError(f"{what} with control characters")


def are_parameters(values: Any) -> bool:
    """Whether `values` are floats of a size that a model can have."""
    return bool(values.dtype == np.float64 and (np.abs(values) <= MOST_PARAMETER).all())


def flaw_of(error: Exception) -> str:
    """What is wrong with the file, for people: in the words of a check, or of a column's description."""
    told = str(error) if type(error) is ValueError else ""
    told = error.what if isinstance(error, HekatError) else told
    return told or f"others ({type(error).__name__})"
