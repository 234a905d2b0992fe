"""A small convolutional network for 8 x 8 images, and the rows it is trained on: scikit-learn's digits, at three
hospitals of different size."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits
from torch import nn

Rows = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], tuple[str, ...]]

# Rows of the common test set, then of each party; 1797 in all.
ROW_COUNTS = (397, 800, 400, 200)
SEED = 8


def build(column_count: int, output_count: int, channels: int = 8, dropout: float = 0.1) -> nn.Module:
    """Maps rows of 64 pixels to a logit for each digit. Hekat gives the two counts, the site file the rest."""
    side = int(column_count**0.5)
    return nn.Sequential(
        nn.Unflatten(1, (1, side, side)),
        nn.Conv2d(1, channels, kernel_size=3, padding=1),
        nn.BatchNorm2d(channels),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(dropout),
        nn.LazyLinear(output_count),
    )


def load(party: int) -> Rows:
    """Pixels from 0 to 1, shape (rows, 64), digits, and a name for each pixel; party 0, 1 or 2."""
    if party not in range(len(ROW_COUNTS) - 1):
        raise ValueError(f"there is no party {party}: choose 0 to {len(ROW_COUNTS) - 2}")
    return _cut(party + 1)


def load_test() -> Rows:
    """The common test set, in the form of `load`."""
    return _cut(0)


def _cut(part: int) -> Rows:
    digits = load_digits()
    order = np.random.default_rng(SEED).permutation(len(digits.target))
    rows = np.split(order, np.cumsum(ROW_COUNTS)[:-1])[part]
    names = tuple(str(name) for name in digits.feature_names)
    return digits.data[rows] / 16.0, digits.target[rows].astype(np.int64), names
