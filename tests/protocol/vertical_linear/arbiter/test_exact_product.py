"""Integer products without rounding or overflow, and integers as limbs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekat.engine.signed_limbs import as_objects, integers_from_limbs
from hekat.errors import BoundError
from hekat.protocol.vertical_linear.arbiter.exact_product import multiply_exactly
from hekat.protocol.vertical_linear.arbiter.plain_arithmetic import limbs_of

INT64 = st.integers(-(2**62), 2**62)


@given(
    left=st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=12),
    right=st.lists(INT64, min_size=1, max_size=12),
    columns=st.integers(1, 2),
)
def test_products_are_those_of_python(left, right, columns) -> None:
    from scipy.sparse import csr_array

    rows = min(len(left), len(right))
    matrix = np.array([left[:rows], left[:rows][::-1]])
    values = np.column_stack([right[:rows]] * columns)
    exact = matrix.astype(object) @ values.astype(object)
    assert multiply_exactly(matrix, values).tolist() == exact.tolist()
    assert multiply_exactly(csr_array(matrix), values).tolist() == exact.tolist()


@given(st.lists(st.integers(-(2**127) + 1, 2**127 - 1), max_size=6))
def test_wide_integers_come_back(numbers) -> None:
    assert integers_from_limbs(limbs_of(as_objects(numbers))).tolist() == numbers


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=6))
def test_int64_comes_back_in_one_limb(numbers) -> None:
    limbs = limbs_of(np.array(numbers, np.int64))
    assert limbs.shape == (len(numbers), 1)
    assert integers_from_limbs(limbs).tolist() == numbers


@pytest.mark.parametrize("number", [2**127, -(2**127)])
def test_what_is_wider_is_refused(number: int) -> None:
    with pytest.raises(BoundError, match="passes its bound"):
        limbs_of(as_objects([number]))
