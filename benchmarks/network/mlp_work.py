"""The local work of an engine's site: some epochs of a dense network on the site's rows, as a Hekat job does them too.

Models pass an engine as one float32 vector, layer after layer.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.model.mlp import Mlp
from hekat.protocol.horizontal.settings import TrainingSettings
from hekat.protocol.horizontal.training.local_training import local_update
from hekat.protocol.horizontal.training.trained_tensors import TrainedTensors

SITES = ("north", "lake", "county")
COLUMNS, CLASSES, SEED = 784, 10, 1
# Of all rows that a model labels rightly.
MOST_APART = 0.005


@dataclass(frozen=True)
class MlpWork:
    """784-`hidden`-10, `batch_rows` and `learning_rate` of its steps, one epoch a round."""

    hidden: int
    batch_rows: int
    learning_rate: float

    @property
    def model(self) -> Mlp:
        return Mlp(COLUMNS, CLASSES, hidden=(self.hidden,))

    @property
    def value_count(self) -> int:
        return (COLUMNS + 1) * self.hidden + (self.hidden + 1) * CLASSES

    def first_vector(self) -> npt.NDArray[np.float32]:
        """The weights that all begin with."""
        return self.join(self.model.init(SEED))

    def train(
        self,
        vector: npt.NDArray[np.float32],
        features: npt.NDArray[np.float64],
        labels: npt.NDArray[np.int64],
        site: str,
        number: int,
    ) -> npt.NDArray[np.float32]:
        """The site's model after round `number` from 1, begun with `vector`."""
        training = TrainingSettings(
            batch_rows=self.batch_rows, learning_rate=self.learning_rate, standardise=False, seed=0
        )
        rng = np.random.default_rng([0, number, SITES.index(site)])
        start = self.split(vector)
        work = local_update(self.model, start, features, labels, training, rng, trained=TrainedTensors.of(self.model))
        return self.join({name: start[name] + work.update[name] for name in start})

    def split(self, vector: npt.NDArray[np.float32]) -> dict[str, npt.NDArray[np.float64]]:
        """The tensors of a vector."""
        parts, start = {}, 0
        for name, shape in self.model.parameter_shapes.items():
            size = int(np.prod(shape))
            parts[name] = vector[start : start + size].reshape(shape).astype(np.float64)
            start += size
        return parts

    def join(self, tensors: dict[str, npt.NDArray[np.float64]]) -> npt.NDArray[np.float32]:
        """The vector of all tensors."""
        return np.concatenate([tensors[name].ravel() for name in self.model.parameter_shapes]).astype(np.float32)

    def right_share(
        self, vector: npt.NDArray[np.float32], features: npt.NDArray[np.float64], labels: npt.NDArray[np.int64]
    ) -> float:
        """The part of the rows that the model labels rightly."""
        return float(np.mean(self.model.predict(self.split(vector), features) == labels))


MNIST = MlpWork(hidden=128, batch_rows=64, learning_rate=0.1)


def check_same_work(
    work: MlpWork, models: Sequence[npt.NDArray[np.float32]], rows: Iterable[tuple[Any, Any]]
) -> list[float]:
    """The part of all `rows` (features, labels) that each model labels rightly; the program ends where they differ.

    Weights are no measure: a round's clipping and rounding change them by a hundredth, and hundreds of SGD steps make
    more of any difference.
    """
    features, labels = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    shares = [work.right_share(model, features.astype(np.float64), labels) for model in models]
    if not max(shares) - min(shares) <= MOST_APART:
        sys.exit(f"models of the same work label {', '.join(f'{share:.2%}' for share in shares)} rightly: not measured")
    return shares


def rows_path(place: Path, site: str) -> Path:
    """Where a site's rows lie."""
    return place / f"{site}.npz"


def write_rows(place: Path, rows: dict[str, tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]]) -> None:
    """Each site's rows as a file of its own."""
    for site, (features, labels) in rows.items():
        np.savez(rows_path(place, site), features=features, labels=labels)


def load_rows(place: Path, site: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """A site's features and labels."""
    with np.load(rows_path(place, site)) as arrays:
        return arrays["features"].astype(np.float64), arrays["labels"]


def draw_rows(count: int) -> dict[str, tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]]:
    """`count` made-up rows a site, every class among them."""
    found = {}
    for number, site in enumerate(SITES):
        rng = np.random.default_rng(number)
        labels = rng.integers(0, CLASSES, size=count)
        labels[:CLASSES] = np.arange(CLASSES)
        found[site] = (rng.random((count, COLUMNS)), labels)
    return found


def read_mnist_test(data: Path) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """MNIST's 10,000 test images."""
    from training.data import load_mnist

    split = load_mnist(data)
    return split.test_inputs.reshape(len(split.test_inputs), -1).numpy(), split.test_labels.numpy()


def read_mnist(data: Path) -> dict[str, tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]]:
    """MNIST's 60,000 training images, a third for each site."""
    from training.data import load_mnist, share_rows

    split = load_mnist(data)
    features = split.train_inputs.reshape(len(split.train_inputs), -1).numpy()
    labels = split.train_labels.numpy()
    shares = share_rows(len(labels), len(SITES), 1)
    return {site: (features[rows.numpy()], labels[rows.numpy()]) for site, rows in zip(SITES, shares, strict=True)}
