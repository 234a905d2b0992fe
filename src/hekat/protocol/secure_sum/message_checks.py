"""What the others sent, checked for form before it is used; every refusal names its sender and shows no value."""

from __future__ import annotations

import numpy as np

from hekat.codec.clip import FloatArray
from hekat.errors import InputError, WireCorruptError
from hekat.protocol.secure_sum.counters import PLAIN_COUNTER_LIMBS
from hekat.protocol.secure_sum.messages import RangeMessage
from hekat.protocol.secure_sum.plain.messages import PlainMeanMessage, PlainUpdateMessage
from hekat.protocol.secure_sum.settings import MAX_ALPHA, MIN_ALPHA, SumSettings
from hekat.scheme.paillier import Ciphertexts


def check_ciphertexts(ciphertexts: Ciphertexts, party: str, step: str, first: Ciphertexts | None) -> None:
    """Raises InputError where an update is no row of ciphertexts, or not as many as the `first` party's."""
    expected = "one or more" if first is None else str(len(first))
    if len(ciphertexts.shape) != 1 or not ciphertexts.size or (first is not None and ciphertexts.shape != first.shape):
        _refuse_size(f"party {party}", f"an update of another size in {step}", expected, ciphertexts.shape)


def check_plain_update(
    update: PlainUpdateMessage, party: str, step: str, first: PlainUpdateMessage | None, weight_max: int
) -> None:
    """Raises InputError where an update in the clear has another form than `first`, or a weight that cannot be."""
    values, counters = update.values, update.counters
    like = update if first is None else first
    if values.ndim != 1 or values.shape != like.values.shape:
        expected = "one row of values" if first is None else f"{like.values.size} values"
        _refuse_size(f"party {party}", f"an update of another size in {step}", expected, values.shape)
    if counters.ndim != 2 or counters.shape[1] != PLAIN_COUNTER_LIMBS or counters.shape != like.counters.shape:
        expected = f"rows of {PLAIN_COUNTER_LIMBS} limbs" if first is None else f"shape {like.counters.shape}"
        _refuse_size(f"party {party}", f"other counters in {step}", expected, counters.shape)
    if not 1 <= update.weight <= weight_max:
        raise InputError(
            f"party {party} sent a row count that cannot be in {step}",
            expected=f"1 to {weight_max}",
            got="another number",
            cure="all parties must run the same job; weight_max bounds the rows of each",
        )


def check_plain_mean(
    mean: PlainMeanMessage,
    aggregator: str,
    step: str,
    like: PlainUpdateMessage,
    party_count: int,
    weight_max: int,
) -> None:
    """Raises WireCorruptError where the answer is not of the form `like`, or not of so many parties' rows."""
    shapes, expected = (mean.values.shape, mean.counters.shape), (like.values.shape, like.counters.shape)
    if shapes != expected:
        _refuse_answer(aggregator, step, f"shapes {expected[0]} and {expected[1]}", f"{shapes[0]} and {shapes[1]}")
    if not party_count <= mean.weight_sum <= party_count * weight_max:
        _refuse_answer(aggregator, step, f"a row count from {party_count} to {party_count * weight_max}", "another")


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
        _refuse_answer(aggregator, step, f"{tensor_count} clipping bounds", f"shape {alpha.shape}")
    if not (alpha >= MIN_ALPHA).all() or not (alpha <= MAX_ALPHA).all():
        _refuse_answer(aggregator, step, "bounds from 2^-40 to 2^40", "others")


def check_party_count(party_count: int, aggregator: str, step: str, settings: SumSettings) -> None:
    """Raises WireCorruptError where the aggregator counts other parties than the job names."""
    if party_count != len(settings.parties):
        _refuse_answer(aggregator, step, f"{len(settings.parties)} parties, as in the job", f"{party_count}")


def _refuse_size(sender: str, what: str, expected: str, shape: tuple[int, ...]) -> None:
    raise InputError(
        f"{sender} sent {what}",
        expected=expected,
        got=f"shape {shape}",
        cure="all parties must run the same job, model and release",
    )


def _refuse_answer(aggregator: str, step: str, expected: str, got: str) -> None:
    raise WireCorruptError(
        f"the answer of {aggregator} to {step} does not have the form of one",
        expected=expected,
        got=got,
        cure="run the same release and job at the aggregator, or find out who altered it: the ledgers hold its digest",
    )
