"""When gradients tell more bits than there are labels: the rule of `label_leak` for labels that are classes.

Training begins with weights of 0, so d = -y / 2 with y in {-1, 1} in the first batch, and a host's gradient is the sum
of x y over its rows in integers: as many bits as x and the count of rows have, not one number. Where all its columns
together tell more bits than the batch has labels, one set of labels alone fits, and it can be found: by trying halves
for a few rows, by lattice reduction for a hundred (ten columns of 16 bits, each label right, within seconds), though
there are ten times as many rows as equations.
Source: Lagarias and Odlyzko 1985, on subset sums of low density.
"""

from __future__ import annotations

import math

from hekat.errors import PolicyError
from hekat.protocol.vertical_linear.settings import LEAK_ACCEPTED, VerticalLinearSettings


def check_label_bits(
    party: str, column_count: int, feature_bits: int, row_count: int, settings: VerticalLinearSettings
) -> None:
    """Raise PolicyError where a batch's gradients could determine its labels, unless the job accepts that in words.

    `feature_bits` is the bit length of the host's largest feature at its scale, `row_count` that of the smallest batch.
    Targets of a regression are no choice between few values: they are not counted.
    """
    if settings.classes is None or settings.label_leak_accepted == LEAK_ACCEPTED:
        return
    # A sum of n terms below 2^b in magnitude has less than 2^(b + 1) n values, every second one possible.
    told = settings.column_count * column_count * (feature_bits + row_count.bit_length())
    label_bits = math.floor(row_count * math.log2(len(settings.classes)))
    if told > label_bits:
        raise PolicyError(
            f"the gradients of host {party} would tell the labels of a batch",
            expected=f"at most {label_bits} bits a batch: those of {row_count} labels",
            got=f"{told}: {column_count} columns, features of {feature_bits} bits",
            cure="use larger batches, fewer columns or fixed_point.feature_bits, or protection.form = "
            f'"shared_weights", or let the job say label_leak.accepted = "{LEAK_ACCEPTED}"',
        )
