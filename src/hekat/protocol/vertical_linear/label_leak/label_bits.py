"""When gradients tell more bits than labels have: the rule of `label_leak` for labels with few values, or rare ones.

Training begins with weights of 0, so d = -y / 2 with y in {-1, 1} in the first batch, and a host's gradient is the sum
of x y over its rows in integers: as many bits as x and the count of rows have, not one number. Where all its columns
together tell more bits than the batch's labels have, one set of labels alone fits, and it can be found: by trying
halves for a few rows, by lattice reduction for a hundred (ten columns of 16 bits, each label right, within seconds),
and four positives among a thousand rows by trying pairs.

What labels have is log2 of the ways to put a batch's values to its rows, a multinomial coefficient: rows times log2 of
the classes where these are as frequent as each other, and little where one is rare. Numbers are counted alike, by their
values in the batch: two values are two classes, and n different ones have log2 n!.
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

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def least_label_bits(targets: FloatArray, batches: Iterable[IntArray], settings: VerticalLinearSettings) -> float:
    """The bits of the labels of the batch whose labels have fewest, from `targets` (rows, K) as they are trained on.

    Numbers are told apart as the integers that they are in the protocol. A batch of one value has 0.
    """
    if targets.shape[1] > 1:
        values: npt.NDArray[Any] = targets.argmax(axis=1)
    else:
        values = np.rint(np.ldexp(targets[:, 0], settings.fixed_point.value_bits))
    return min(arrangement_bits(np.unique(values[rows], return_counts=True)[1]) for rows in batches)


def most_label_bits(row_count: int, settings: VerticalLinearSettings) -> float:
    """What a batch's labels can have at most, for all a host knows: classes as frequent as each other, or numbers that
    all differ."""
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

    `feature_bits` is the bit length of the host's largest feature at its scale, `row_count` is of a batch, and
    `label_bits` what the labels of any batch have at least. Classes are 1 or -1 in a sum of features; numbers lengthen
    it by their own bits, `target_bits` before the point.
    """
    if settings.label_leak_accepted == LEAK_ACCEPTED:
        return
    told = column_count * bits_of_column(feature_bits, row_count, settings, target_bits)
    if told > label_bits:
        raise PolicyError(
            f"the gradients of host {party} would tell the labels of a batch",
            expected=f"at most {math.floor(label_bits)} bits a batch: those of its labels",
            got=f"{told}: {column_count} columns, features of {feature_bits} bits",
            cure=", ".join(["use larger batches, fewer columns or fixed_point.feature_bits", *ways_out(settings)]),
        )


def bits_of_column(feature_bits: int, row_count: int, settings: VerticalLinearSettings, target_bits: int = 1) -> int:
    """What the gradients of one column tell of a batch of `row_count` rows, as `check_label_bits` counts."""
    number_bits = 0 if settings.classes is not None else target_bits + settings.fixed_point.value_bits
    # A sum of n terms of b bits has less than 2^(b + 1) n values, every second one possible where terms change sign.
    return settings.column_count * (feature_bits + number_bits + row_count.bit_length())


def arrangement_bits(counts: IntArray) -> float:
    """log2 of how many orders there are of things of which so many are alike."""
    natural = math.lgamma(int(counts.sum()) + 1) - math.fsum(math.lgamma(count + 1) for count in counts.tolist())
    return max(0.0, natural / math.log(2))
