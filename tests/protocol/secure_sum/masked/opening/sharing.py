"""A sharing of one secret as a dealer and members make it together, with numbers that are random and of no key."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.protocol.secure_sum.masked.opening.field import FieldArray, take_elements
from hekat.protocol.secure_sum.masked.opening.shamir import CHECKS, held_sets, hide_secret, lacking_sets, share_at


def random_elements(*shape: int) -> FieldArray:
    """Uniform, independent residues."""
    return take_elements(os.urandom, math.prod(shape)).reshape(shape)


def share_secret(secret: npt.NDArray[np.signedinteger[Any]], member_count: int, threshold: int) -> FieldArray:
    """Row x - 1 is the share of the member at point x: shape (member_count, N + 8)."""
    numbers = random_elements(len(lacking_sets(member_count, threshold)), secret.shape[-1] + CHECKS)
    offset = hide_secret(secret, numbers)
    held = {x: numbers[list(held_sets(x, member_count, threshold))] for x in range(1, member_count + 1)}
    return np.stack([share_at(x, member_count, threshold, held[x], offset) for x in held])
