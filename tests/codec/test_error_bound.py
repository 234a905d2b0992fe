"""The bound's formula, and what it refuses."""

from __future__ import annotations

import math

import pytest

from hekat.codec import error_bound_sum, quantisation_step
from hekat.errors import InputError


@pytest.mark.parametrize(
    ("layout", "bits", "step"),
    [
        ("balanced", 8, 1 / 127),
        ("two_sign_bits", 8, 1 / 127),
        ("offset", 8, 2 / 255),
        ("balanced", 1, 2.0),
        ("offset", 1, 2.0),
        ("balanced", 2, 1.0),
        ("two_sign_bits_as_published", 16, 1 / 32767),
    ],
)
def test_step_between_levels(layout: str, bits: int, step: float) -> None:
    assert quantisation_step(1.0, bits, layout) == pytest.approx(step, rel=1e-15)
    assert quantisation_step(0.5, bits, layout) == pytest.approx(step / 2, rel=1e-15)


def test_bound_is_half_a_step_an_addend_and_little_more() -> None:
    assert error_bound_sum(1.0, 16, 9) == pytest.approx(9 / 2 / 32767, rel=1e-9)
    assert error_bound_sum(1.0, 16, 9) > 9 / 2 / 32767
    assert error_bound_sum(1.0, 16, 9, "stochastic") == pytest.approx(9 / 32767, rel=1e-9)
    assert error_bound_sum(1.0, 16, 9, scale=1 / 9) == pytest.approx(1 / 2 / 32767, rel=1e-9)


def test_floating_point_share_is_what_the_module_says() -> None:
    small = error_bound_sum(1.0, 16, 9) / (9 / 2 / 32767) - 1
    large = error_bound_sum(1.0, 32, 65536) / (65536 / 2 / (2**31 - 1)) - 1
    assert 1e-10 < small < 3e-10
    assert 0.02 < large < 0.04


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": math.nan}, "alpha"),
        ({"bits": 0}, "bits"),
        ({"addend_count": 0}, "addend_count"),
        ({"rounding": "up"}, "rounding"),
        ({"layout": "none"}, "layout"),
        ({"scale": 0.0}, "scale"),
        ({"scale": math.inf}, "scale"),
    ],
)
def test_bad_input_is_refused(change: dict[str, object], says: str) -> None:
    arguments: dict[str, object] = {"alpha": 1.0, "bits": 8, "addend_count": 2} | change
    with pytest.raises(InputError, match=says):
        error_bound_sum(**arguments)  # type: ignore[arg-type]
