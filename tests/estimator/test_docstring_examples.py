"""The examples in the docstrings of the estimators say what they print."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from hekat.estimator import common_rows, linear_regression, logistic_regression


@pytest.mark.parametrize(
    "module", [common_rows, linear_regression, logistic_regression], ids=lambda module: module.__name__
)
def test_examples_print_what_they_say(module: ModuleType) -> None:
    results = doctest.testmod(module)
    assert results.attempted > 0
    assert results.failed == 0
