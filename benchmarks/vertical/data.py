"""What vertical training is measured on: columns of a guest and a host, made up or UCI's credit files; stored keys."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.scheme.paillier import KeyPair, PrivateKey

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

KEY_FILE = Path(__file__).parents[2] / "tests" / "vectors" / "paillier_keys.json"
GUEST, HOST, ARBITER = "bank", "insurer", "arbiter"
CREDIT_GUEST, CREDIT_HOST = "default_credit_hetero_guest.csv", "default_credit_hetero_host.csv"
CREDIT_TEST = "default_credit_homo_test.csv"


@dataclass(frozen=True)
class JoinedColumns:
    """Rows that both parties have, in one order: the guest's columns, its labels 0 and 1, the host's columns."""

    guest: FloatArray
    host: FloatArray
    labels: IntArray
    what: str

    @property
    def joined(self) -> FloatArray:
        """The table that nobody has: the guest's columns, then the host's."""
        return np.hstack([self.guest, self.host])

    def tables(self, rows: IntArray | None = None) -> dict[str, Table]:
        """What each party brings, of the given row numbers; all rows if None."""
        rows = np.arange(len(self.labels)) if rows is None else rows
        return {
            GUEST: _table(self.guest[rows], self.labels[rows], GUEST),
            HOST: _table(self.host[rows], None, HOST),
        }


def draw_columns(row_count: int, guest_columns: int, host_columns: int, seed: int) -> JoinedColumns:
    """Normal columns, each correlated with its neighbours, and labels that depend on all of them by chance."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(row_count, guest_columns + host_columns))
    features[:, 1:] += 0.5 * features[:, :-1]
    scores = features @ rng.normal(size=features.shape[1]) / np.sqrt(features.shape[1])
    labels = (rng.random(row_count) < 1 / (1 + np.exp(1.2 - 2 * scores))).astype(np.int64)
    what = f"{row_count:,} made-up rows, {guest_columns} columns at the guest and {host_columns} at the host"
    return JoinedColumns(features[:, :guest_columns], features[:, guest_columns:], labels, what)


def read_credit(folder: Path) -> tuple[JoinedColumns, IntArray, IntArray]:
    """UCI's credit defaults from the guest's and the host's file of `folder`, joined by id; the rows to train on and
    the rows to test on, which are the test file's."""
    guest_ids, guest = _read_csv(folder / CREDIT_GUEST)
    host_ids, host = _read_csv(folder / CREDIT_HOST)
    test_ids, _ = _read_csv(folder / CREDIT_TEST)
    common, at_guest, at_host = np.intersect1d(guest_ids, host_ids, assume_unique=True, return_indices=True)
    labels, guest_columns = guest[at_guest, 0].astype(np.int64), guest[at_guest, 1:]
    is_test = np.isin(common, test_ids)
    what = f"UCI credit default, {guest_columns.shape[1]} + {host.shape[1]} columns"
    joined = JoinedColumns(guest_columns, host[at_host], labels, what)
    return joined, np.flatnonzero(~is_test), np.flatnonzero(is_test)


def stored_keys(key_bits: int) -> list[KeyPair]:
    """The published test keys of this size, as new objects: what a run makes of a key is not there before it."""
    primes = json.loads(KEY_FILE.read_text())["keys"][str(key_bits)]
    private = [PrivateKey(int(one["p"], 16), int(one["q"], 16)) for one in primes]
    return [KeyPair(key.public, key) for key in private]


def _table(features: FloatArray, labels: IntArray | None, party: str) -> Table:
    names = tuple(f"{party}_{column}" for column in range(features.shape[1]))
    return Table(features, labels, names, party)


def _read_csv(path: Path) -> tuple[IntArray, FloatArray]:
    """Ids, and all other columns as numbers."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    return np.array([int(row[0]) for row in rows]), np.array([row[1:] for row in rows], np.float64)
