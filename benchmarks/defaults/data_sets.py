"""The data sets: six that others made and six made here, each with what is hard for a training of few rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_svmlight_file, load_wine
from sklearn.model_selection import train_test_split

TEST_PART = 0.25
SEED = 20
CREDIT_FILES = ("homo_guest", "homo_host_1", "homo_host_2", "homo_test")


@dataclass(frozen=True)
class DataSet:
    """Rows X, shape (rows, columns), float64; labels y are class numbers (int64) or numbers (float64).

    `party_count` parties hold the training rows.
    """

    name: str
    X: npt.NDArray[np.float64] = field(repr=False)
    y: npt.NDArray[Any] = field(repr=False)
    party_count: int = 5
    is_apart: bool = False
    """Whether rows are dealt by label, so that each party holds mostly one class."""

    @property
    def classes(self) -> list[str] | None:
        """Names of the classes; None for a regression."""
        return [str(k) for k in range(int(self.y.max()) + 1)] if self.y.dtype.kind == "i" else None

    def split(self) -> tuple[list[npt.NDArray[np.int64]], npt.NDArray[np.int64]]:
        """(row numbers of each party, row numbers to test on)."""
        train, test = train_test_split(
            np.arange(len(self.y)),
            test_size=TEST_PART,
            random_state=SEED,
            stratify=self.y if self.classes else None,
        )
        if self.is_apart:
            train = train[np.argsort(self.y[train] + np.random.default_rng(SEED).normal(size=len(train)) * 0.3)]
        return np.array_split(train, self.party_count), test


def data_sets(folder: Path | None) -> Iterator[DataSet]:
    """All that are there: UCI credit and a9a lie under `folder`, the others come with scikit-learn or are made."""
    if folder is not None:
        files = [folder / "credit" / f"default_credit_{name}.csv" for name in CREDIT_FILES]
        credit = np.concatenate([np.genfromtxt(file, delimiter=",", skip_header=1) for file in files])
        yield DataSet("UCI credit", credit[:, 2:], credit[:, 1].astype(np.int64), 3)
        X, y = load_svmlight_file(str(folder / "a9a" / "a9a_full.libsvm"))
        yield DataSet("a9a", X.toarray(), (y > 0).astype(np.int64))
    yield _loaded("breast cancer", load_breast_cancer)
    yield _loaded("diabetes", load_diabetes)
    yield _loaded("wine", load_wine, 3)
    yield _loaded("digits", load_digits)
    rng = np.random.default_rng(SEED)
    yield _long_tails(rng)
    yield _vehicle_like(rng)
    yield _motor_like(rng)
    yield _rare_class(rng)
    yield _many_columns(rng)
    yield _parties_apart(rng)


def _loaded(name: str, load: Callable[..., Any], party_count: int = 5) -> DataSet:
    X, y = load(return_X_y=True)
    return DataSet(name, X, y.astype(np.float64) if name == "diabetes" else y.astype(np.int64), party_count)


def _long_tails(rng: np.random.Generator) -> DataSet:
    """Columns log-normal with spread 1.5: the largest value is hundreds of times the median."""
    z = rng.normal(size=(20_000, 18))
    score = z @ rng.normal(size=18) + rng.logistic(size=20_000)
    return DataSet("made: long tails", np.exp(1.5 * z), (score > 0).astype(np.int64))


def _vehicle_like(rng: np.random.Generator) -> DataSet:
    """Four classes, 846 rows of 18 columns that go together, with tails."""
    hidden = rng.normal(size=(846, 6))
    X = np.exp(hidden @ rng.normal(size=(6, 18)) * 0.5 + 0.05 * rng.normal(size=(846, 18)))
    scores = hidden @ rng.normal(size=(6, 4)) * 2 + rng.gumbel(size=(846, 4))
    return DataSet("made: vehicle-like", X, scores.argmax(axis=1).astype(np.int64))


def _motor_like(rng: np.random.Generator) -> DataSet:
    """A number that follows linearly from columns with tails, in units far apart and some of them nearly collinear."""
    X = np.exp(rng.normal(size=(10_000, 12)))
    X[:, 6:9] = X[:, :3] + 0.02 * rng.normal(size=(10_000, 3))
    target = X @ rng.normal(size=12) + 0.3 * rng.normal(size=10_000)
    return DataSet("made: motor-like", X * 10.0 ** rng.integers(-4, 5, size=12), target)


def _rare_class(rng: np.random.Generator) -> DataSet:
    """One row in a hundred is of the second class."""
    X = rng.normal(size=(40_000, 20))
    score = X @ rng.normal(size=20) * 0.5 - 7.2 + rng.logistic(size=40_000)
    return DataSet("made: rare class", X, (score > 0).astype(np.int64))


def _many_columns(rng: np.random.Generator) -> DataSet:
    """300 columns, a tenth of which matter."""
    X = rng.normal(size=(6_000, 300))
    score = X[:, :30] @ rng.normal(size=30) + rng.logistic(size=6_000)
    return DataSet("made: 300 columns", X, (score > 0).astype(np.int64))


def _parties_apart(rng: np.random.Generator) -> DataSet:
    """Each party has mostly rows of one class, where local steps drift apart."""
    X = rng.normal(size=(9_000, 15)) * np.exp(rng.normal(size=15))
    score = X @ rng.normal(size=15) + rng.logistic(size=9_000)
    labels = np.digitize(score, np.quantile(score, [1 / 3, 2 / 3])).astype(np.int64)
    return DataSet("made: parties apart", X, labels, 3, is_apart=True)
