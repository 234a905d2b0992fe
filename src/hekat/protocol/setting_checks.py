"""Refusals of settings, each with the setting's name as a job file spells it."""

from __future__ import annotations

import difflib
from numbers import Integral
from typing import Final, NoReturn

from hekat.errors import InputError

MAX_SEED: Final = 2**63 - 1
"""Also the largest whole number of a setting that has no bound of its own."""


def refuse_setting(name: str, expected: str, got: object) -> NoReturn:
    """Raise InputError for the setting `name`, such as "codec.value_bits"."""
    raise InputError(f"setting {name} refused", expected=expected, got=str(got), cure=f"change {name}")


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise InputError unless `value` is one of the `choices`; the cure names a choice with similar spelling."""
    if value not in choices:
        close = difflib.get_close_matches(value, choices, n=1, cutoff=0.5)
        raise InputError(
            f"setting {name} refused",
            expected=" or ".join(repr(choice) for choice in choices),
            got=repr(value),
            cure=f"did you mean {close[0]!r}?" if close else f"change {name}",
        )


def is_whole(value: object) -> bool:
    """Whether a setting is a whole number; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)
