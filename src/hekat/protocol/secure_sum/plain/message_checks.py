"""What is received under protection `none`, checked for form before it is used; a refusal shows no value."""

from __future__ import annotations

from hekat.codec.counters import PLAIN_COUNTER_LIMBS
from hekat.errors import InputError
from hekat.protocol.secure_sum.agreement.message_checks import refuse_answer, refuse_size
from hekat.protocol.secure_sum.plain.blocks import block_count_of
from hekat.protocol.secure_sum.plain.messages import PlainMeanMessage, PlainUpdateMessage


def check_plain_update(
    update: PlainUpdateMessage,
    party: str,
    step: str,
    first: PlainUpdateMessage | None,
    weight_max: int,
    most_values: int,
) -> None:
    """Raises InputError where an update in the clear has another form than `first`, or a weight that cannot be.

    Blocks hold `most_values` at most.
    """
    values, counters = update.values, update.counters
    like = update if first is None else first
    if values.ndim != 1 or values.shape != like.values.shape:
        expected = "one row of values" if first is None else f"{like.values.size} values"
        refuse_size(f"party {party}", f"an update of another size in {step}", expected, values.shape)
    if counters.ndim != 2 or counters.shape[1] != PLAIN_COUNTER_LIMBS or counters.shape != like.counters.shape:
        expected = f"rows of {PLAIN_COUNTER_LIMBS} limbs" if first is None else f"shape {like.counters.shape}"
        refuse_size(f"party {party}", f"other counters in {step}", expected, counters.shape)
    most_blocks = block_count_of(most_values)
    if update.block_count != like.block_count or not 0 <= update.block_count <= most_blocks:
        expected = f"at most {most_blocks}" if first is None else f"{like.block_count}"
        refuse_size(f"party {party}", f"another number of blocks in {step}", expected, (update.block_count,))
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
        refuse_answer(aggregator, step, f"shapes {expected[0]} and {expected[1]}", f"{shapes[0]} and {shapes[1]}")
    if not party_count <= mean.weight_sum <= party_count * weight_max:
        refuse_answer(aggregator, step, f"a row count from {party_count} to {party_count * weight_max}", "another")
