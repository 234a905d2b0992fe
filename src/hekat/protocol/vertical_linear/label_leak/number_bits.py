"""The rule of `label_bits` for numbers at every precision: few large numbers among many small, or two values with
noise.

Numbers that all differ hold many bits, but an attacker who asks only which rows have the large numbers asks for few
bits. So the rule counts the numbers rounded to 2^-b, for every b: rounded numbers hold as many bits as there are ways
to assign them to rows, and a gradient tells as many bits less as rounding took off. Where the unit is larger than one
spread of the targets, rounding takes off most of a number. The rest is noise in the gradient, which then tells at most
half of log2(1 + signal / noise).
Source: Shannon 1949, for a channel with noise; Tropp and Gilbert 2007, who find few large numbers in few sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hekat.errors import PolicyError
from hekat.protocol.vertical_linear.label_leak.cures import ways_out
from hekat.protocol.vertical_linear.label_leak.label_bits import arrangement_bits, bits_of_column
from hekat.protocol.vertical_linear.settings import LEAK_ACCEPTED, VerticalLinearSettings

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def check_number_bits(
    party: str,
    column_count: int,
    feature_bits: int,
    targets: FloatArray,
    batches: Sequence[IntArray],
    settings: VerticalLinearSettings,
    target_bits: int = 1,
) -> None:
    """Raise PolicyError where gradients of `column_count` columns determine a batch's numbers at some precision.

    `targets` (rows, 1) are the numbers as training takes them; classes pass unchecked. The job may accept the leak in
    words.
    """
    if settings.classes is not None or settings.label_leak_accepted == LEAK_ACCEPTED:
        return
    value_bits = settings.fixed_point.value_bits
    for rows in batches:
        values = np.sort(targets[rows, 0])
        whole = bits_of_column(feature_bits, len(rows), settings, target_bits)
        for bits in range(-target_bits, value_bits):
            counts, noise_share = _round_off(values, bits)
            if len(counts) == 1:
                continue
            told: float = whole - value_bits + bits
            if bits < 0:
                told = min(told, math.log2(1 / noise_share) / 2) if noise_share else told
            if column_count * told > arrangement_bits(counts):
                raise PolicyError(
                    f"the gradients of host {party} would tell the numbers of a batch to 2^{-bits} of their spread",
                    expected=f"at most {math.floor(arrangement_bits(counts))} bits: those that its numbers hold, so "
                    "rounded",
                    got=f"{math.ceil(column_count * told)}: {column_count} columns, features of {feature_bits} bits",
                    cure=", ".join(
                        [
                            "take logarithms of targets with long tails",
                            "use larger batches or fewer columns",
                            *ways_out(settings),
                        ]
                    ),
                )


def _round_off(ordered: FloatArray, bits: int) -> tuple[IntArray, float]:
    """Round ascending numbers to 2^-bits: how many are equal then, by value, and the share of variance rounded off."""
    rounded = np.rint(np.ldexp(ordered, bits))
    begins = np.flatnonzero(np.concatenate([[True], rounded[1:] != rounded[:-1]]))
    counts = np.diff(np.append(begins, len(ordered)))
    means = np.add.reduceat(ordered, begins) / counts
    within = float(((ordered - np.repeat(means, counts)) ** 2).sum())
    total = float(((ordered - ordered.mean()) ** 2).sum())
    return counts, min(1.0, within / total) if total else 0.0
