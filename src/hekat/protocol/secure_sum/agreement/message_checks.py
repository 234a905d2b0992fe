"""Checks of the messages beside the sums, before they are used; a refusal names the sender and shows no value."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from hekat.codec.clip import FloatArray
from hekat.errors import InputError, WireCorruptError
from hekat.protocol.secure_sum.agreement.messages import RangeMessage
from hekat.protocol.secure_sum.settings import MAX_ALPHA, MIN_ALPHA


def check_ranges(ranges: RangeMessage, party: str, step: str) -> None:
    """Raises InputError where extremes are not one finite, ordered pair for each tensor."""
    sizes = ranges.sizes
    if not (sizes.ndim == 1 and (sizes >= 1).all() and ranges.minimum.shape == ranges.maximum.shape == sizes.shape):
        raise InputError(
            f"party {party} sent ranges of other tensors in {step}",
            expected="one minimum, maximum and size for each tensor",
            got=f"shapes {ranges.minimum.shape}, {ranges.maximum.shape}, {ranges.sizes.shape}",
            cure="all parties must run the same job, model and release",
        )
    ends = np.concatenate([ranges.minimum, ranges.maximum])
    if not np.isfinite(ends).all() or (ranges.minimum > ranges.maximum).any():
        raise InputError(
            f"party {party} sent ranges that cannot be in {step}",
            expected="finite numbers, minimum <= maximum",
            got="others",
            cure="find out what runs at that party: this release does not send such ranges",
        )


def check_bounds(alpha: FloatArray, aggregator: str, step: str, tensor_count: int) -> None:
    """Raises WireCorruptError where clipping bounds are not one number within the usual range for each tensor."""
    if alpha.shape != (tensor_count,):
        refuse_answer(aggregator, step, f"{tensor_count} clipping bounds", f"shape {alpha.shape}")
    if not (alpha >= MIN_ALPHA).all() or not (alpha <= MAX_ALPHA).all():
        refuse_answer(aggregator, step, "bounds from 2^-40 to 2^40", "others")


def refuse_size(sender: str, what: str, expected: str, shape: tuple[int, ...]) -> NoReturn:
    """Raise InputError for a message that another role of the job sent in another shape."""
    raise InputError(
        f"{sender} sent {what}",
        expected=expected,
        got=f"shape {shape}",
        cure="all parties must run the same job, model and release",
    )


def refuse_answer(aggregator: str, step: str, expected: str, got: str) -> NoReturn:
    """Raise WireCorruptError for an answer of the aggregator."""
    raise WireCorruptError(
        f"the answer of {aggregator} to {step} does not have the form of one",
        expected=expected,
        got=got,
        cure="run the same release and job at the aggregator, or find out who altered it: the ledgers hold its digest",
    )
