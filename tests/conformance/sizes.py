"""Which values of a parameter the quick run has, and which the long one has besides."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def also_long(values: Iterable[Any], long: Iterable[Any]) -> list[Any]:
    """The values in their order for `parametrize`, those of `long` marked so; a tuple is one value for each name."""
    left = list(long)
    return [
        pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.long)
        if value in left
        else value
        for value in values
    ]
