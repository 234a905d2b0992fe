"""Shamir's sharing of a ring element's coefficients over F_65521, with random masks beside them for the share check.

Source: Shamir, How to share a secret, CACM 1979, coefficient by coefficient.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError
from hekat.protocol.secure_sum.masked.opening.field import (
    PRIME,
    FieldArray,
    multiply_matrices,
    random_elements,
    to_field,
    wipe,
)

CHECKS = 8


def share_secret(coefficients: npt.NDArray[np.signedinteger[Any]], member_count: int, threshold: int) -> FieldArray:
    """Row x - 1 is the share of the member at point x: shape (member_count, N + 8).

    Column n < N holds f_n(x) of a fresh random polynomial f_n of degree < threshold with f_n(0) = coefficient n; the
    last 8 columns share 8 random masks likewise, which `share_check` uses up.
    `coefficients`: N integers of at most 32760 in size. Raises InputError.
    """
    if not 1 <= threshold <= member_count < PRIME:
        raise InputError(
            "a threshold that no sharing has",
            expected="1 <= threshold <= members",
            got=f"threshold {threshold} of {member_count} members",
        )
    in_range = coefficients.ndim == 1 and bool(np.all(np.abs(coefficients.astype(np.int64)) <= PRIME // 2))
    if not in_range:
        raise InputError("not a secret to share", expected=f"a vector of integers within +-{PRIME // 2}")
    degree = len(coefficients)
    polynomials = np.empty((threshold, degree + CHECKS), dtype=np.uint16)
    polynomials[0, :degree] = to_field(coefficients)
    polynomials[0, degree:] = random_elements(CHECKS)
    polynomials[1:] = random_elements(threshold - 1, degree + CHECKS)
    powers = [[pow(x, k, PRIME) for k in range(threshold)] for x in range(1, member_count + 1)]
    shares = multiply_matrices(np.array(powers, dtype=np.uint16), polynomials)
    wipe(polynomials)
    return shares
