"""The rule on bits: a batch's gradients must tell fewer bits than its labels have, which matters where values are few.

Training begins with weights of 0, so d = -y / 2 with y in {-1, 1} in the first batch. A host's gradient is then the sum
of x y over the rows in integers, which has as many bits as x and the number of rows have together. Where all columns of
the host tell more bits than the batch's labels have, only one set of labels fits, and it can be found: by trying halves
for a few rows, by lattice reduction for a hundred (ten columns of 16 bits: every label right, within seconds), and by
trying pairs for four positives among a thousand rows.

The bits of labels are log2 of the number of ways to assign a batch's values to its rows, a multinomial coefficient:
rows times log2 of the number of classes where all classes are equally frequent, and little where one is rare. Numbers
are counted alike, by their values in the batch: two values are two classes, and n different values have log2 n!.
Source: Lagarias and Odlyzko 1985, on subset sums of low density.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import PolicyError
from hekat.protocol.vertical_linear.label_leak.cures import ways_out
from hekat.protocol.vertical_linear.settings import LEAK_ACCEPTED, VerticalLinearSettings
from hekat.protocol.vertical_linear.training_settings import LEAST_FEATURE_BITS

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def least_label_bits(targets: FloatArray, batches: Iterable[IntArray], settings: VerticalLinearSettings) -> float:
    """The fewest bits that the labels of any batch have, from `targets` (rows, K) as training takes them.

    Two numbers are different where their integers in the protocol are. A batch with one value has 0 bits.
    """
    if targets.shape[1] > 1:
        values: npt.NDArray[Any] = targets.argmax(axis=1)
    else:
        values = np.rint(np.ldexp(targets[:, 0], settings.fixed_point.value_bits))
    return min(arrangement_bits(np.unique(values[rows], return_counts=True)[1]) for rows in batches)


def most_label_bits(row_count: int, settings: VerticalLinearSettings) -> float:
    """The most bits that a batch's labels can have, for all that a host knows: equally frequent classes, or numbers
    that all differ."""
    if settings.classes is None:
        return arrangement_bits(np.ones(row_count, np.int64))
    return row_count * math.log2(len(settings.classes))


def check_label_bits(
    party: str,
    column_count: int,
    feature_bits: int,
    row_count: int,
    label_bits: float,
    settings: VerticalLinearSettings,
    target_bits: int = 1,
) -> None:
    """Raise PolicyError where a batch's gradients could determine its labels, unless the job accepts that in words.

    `feature_bits` is the bit length of the host's largest feature at its scale, `row_count` the rows of a batch, and
    `label_bits` the fewest bits that the labels of any batch have. Classes are factors of 1 or -1 in a sum of features;
    numbers lengthen the sum by their own bits, `target_bits` of them before the point.
    """
    if settings.label_leak_accepted == LEAK_ACCEPTED:
        return
    told = column_count * bits_of_column(feature_bits, row_count, settings, target_bits)
    if told > label_bits:
        raise PolicyError(
            f"the gradients of host {party} would tell the labels of a batch",
            expected=f"at most {math.floor(label_bits)} bits a batch, the bits of its labels",
            got=f"{told}: {column_count} columns, features of {feature_bits} bits",
            cure=", ".join(
                [
                    "use larger batches or fewer columns",
                    *_fewer_bits(column_count, feature_bits, told, label_bits, settings),
                    *ways_out(settings),
                ]
            ),
        )


def _fewer_bits(
    column_count: int, feature_bits: int, told: int, label_bits: float, settings: VerticalLinearSettings
) -> list[str]:
    """The most fixed_point.feature_bits with which the rule would pass, if any do."""
    said = settings.fixed_point.feature_bits
    too_many = math.ceil((told - label_bits) / (column_count * settings.column_count))
    if said - too_many < LEAST_FEATURE_BITS or feature_bits <= too_many:
        return []
    return [f"set fixed_point.feature_bits = {said - too_many} or fewer"]


def bits_of_column(feature_bits: int, row_count: int, settings: VerticalLinearSettings, target_bits: int = 1) -> int:
    """How many bits the gradients of one column tell of a batch of `row_count` rows, as `check_label_bits` counts."""
    number_bits = 0 if settings.classes is not None else target_bits + settings.fixed_point.value_bits
    # A sum of n terms of b bits has less than 2^(b + 1) n values; where terms change sign, every second one is
    # possible.
    return settings.column_count * (feature_bits + number_bits + row_count.bit_length())


def arrangement_bits(counts: IntArray) -> float:
    """log2 of the number of orders of things in groups of `counts` equal ones."""
    natural = math.lgamma(int(counts.sum()) + 1) - math.fsum(math.lgamma(count + 1) for count in counts.tolist())
    return max(0.0, natural / math.log(2))
