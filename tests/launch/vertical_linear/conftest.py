"""A bank and an insurer, in the end a telephone company too, with tables, keys and a site file of their own."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from hekat.run.vertical_linear.load_inputs import VerticalInputs, load_vertical_inputs
from hekat.run.vertical_linear.part_file import PARTS
from hekat.wire.keyfile import save_private_key

COLUMNS = {"bank": ("income", "debt"), "insurer": ("claims", "age"), "telephone": ("calls", "bills")}
CLASSES = ("repaid", "defaulted")
POLICY = """[policy]
protections = ["paillier", "lattice", "none"]
exactness_check = true
label_leak_waiver = true
column_leak_waiver = true
joined_rows = true
max_score_bits = 32
"""


def write_csv(path: Path, header: list[str], rows: list[list[object]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


@dataclass
class Firms:
    """A folder with everything that a job needs; parts of it can be written anew."""

    ARBITER: ClassVar[str] = "[protection]\nkind = 'none'\nform = 'arbiter'\n"
    WAIVER: ClassVar[str] = """[label_leak]
accepted = 'hosts may learn labels'
[column_leak]
accepted = 'the guest may learn columns of hosts'
"""
    POLICY: ClassVar[str] = POLICY

    folder: Path
    names: tuple[str, ...] = ("bank", "insurer")

    @property
    def job(self) -> Path:
        return self.folder / "job.toml"

    def write_table(
        self,
        party: str,
        count: int = 120,
        *,
        data: str = "clients",
        seed: int = 3,
        header: list[str] | None = None,
        change: Callable[[list[list[object]]], list[list[object]]] = lambda rows: rows,
    ) -> None:
        """`count` people of `count` + 10, in an order of the party's own; the bank knows who defaulted."""
        rng = np.random.default_rng(seed)
        people = count + 10
        values = {name: rng.normal(size=(people, len(columns))) for name, columns in COLUMNS.items()}
        score = sum(one @ np.array([1.0, -1.5]) for one in (values["bank"], values["insurer"]))
        label = np.array(CLASSES)[(score + rng.normal(scale=0.3, size=people) > 0).astype(int)]
        own = np.random.default_rng([seed, len(party)]).permutation(people)[:count]
        found = header or ["person", *COLUMNS[party], *(["outcome"] if party == "bank" else [])]
        rows: list[list[object]] = [
            [f"p{person:04d}", *values[party][person].tolist(), *([label[person]] if party == "bank" else [])]
            for person in own.tolist()
        ]
        write_csv(self.folder / f"{party}-{data}.csv", found, change(rows))

    def write_labels(self, label: Callable[[list[object]], object]) -> None:
        """The bank's tables with other labels, each of its row."""
        for data, count, seed in (("clients", 120, 3), ("clients-test", 40, 4)):
            change = lambda rows: [[*row[:-1], label(row)] for row in rows]  # noqa: E731
            self.write_table("bank", count, data=data, seed=seed, change=change)

    def write_site(self, policy: str = POLICY, *, party: dict[str, str] | None = None, more: str = "") -> None:
        """`party` adds lines to a party's own section; `more` to the end."""
        lines = ["format = 1", policy]
        for name in self.names:
            lines.append(f"[party.{name}]\n{(party or {}).get(name, '')}")
            for data in ("clients", "clients-test"):
                lines.append(f"[party.{name}.data.{data}]\nsource = 'csv'\npath = '{name}-{data}.csv'\nid = 'person'")
                lines.append("label = 'outcome'" if name == "bank" else "")
        (self.folder / "site.toml").write_text("\n".join(lines) + "\n" + more)

    def write_job(self, sections: str = "", *, without: str = "", **changes: str) -> Path:
        """A job of three epochs on shares, unencrypted unless `sections` have a [protection] of their own."""
        values = {
            "format": "2",
            "name": '"credit"',
            "protocol": '"vertical_linear"',
            "guest": '"bank"',
            "hosts": "[" + ", ".join(f'"{name}"' for name in self.names[1:]) + "]",
            "data": '"clients"',
            "classes": '["repaid", "defaulted"]',
            **changes,
        }
        lines = [f"{key} = {value}" for key, value in values.items() if key != without and value]
        if "[training]" not in sections:
            sections += "\n[training]\nepochs = 3\nbatch_rows = 40\nlearning_rate = 0.3\n"
        if "[protection]" not in sections:
            sections += "\n[protection]\nkind = 'none'\n"
        self.job.write_text("\n".join(lines) + "\n" + sections)
        return self.job

    def load_inputs(self) -> VerticalInputs:
        return load_vertical_inputs(self.job)


def _make_firms(folder: Path, count: int) -> Firms:
    made = Firms(folder, ("bank", "insurer", "telephone")[:count])
    for name in made.names:
        made.write_table(name)
        made.write_table(name, 40, data="clients-test", seed=4)
    made.write_site()
    return made


@pytest.fixture(scope="session")
def make_firms() -> Callable[[Path, int], Firms]:
    """Makes firms in a folder, with tables of clients and of test clients."""
    return _make_firms


@pytest.fixture
def firms(tmp_path: Path) -> Firms:
    """Bank and insurer."""
    (tmp_path / "job").mkdir()
    return _make_firms(tmp_path / "job", 2)


@pytest.fixture
def three_firms(tmp_path: Path) -> Firms:
    """The same with a telephone company, for jobs with an arbiter."""
    (tmp_path / "job").mkdir()
    return _make_firms(tmp_path / "job", 3)


@pytest.fixture(scope="session")
def weights_of() -> Callable[[Path], list[float]]:
    """All weights and the intercept of the model in a run's folder; of shares their sums mod 2^128, in units."""

    def read(folder: Path) -> list[float]:
        parts = [saved.part.arrays for saved in PARTS.load_all(folder).values()]
        if "weights" in parts[0]:
            return [float(one) for arrays in parts for key in sorted(arrays) for one in arrays[key].reshape(-1)]
        found = []
        for key in ("intercept_shares", "weight_shares"):
            limbs = [arrays[key].reshape(-1, 2) for arrays in parts]
            for pairs in zip(*limbs, strict=True):
                total = sum(int(low) + (int(high) << 64) for low, high in pairs) % 2**128
                found.append(float(total - 2**128 if total >= 2**127 else total))
        return found

    return read


@pytest.fixture
def key_files(firms: Firms, paillier_keys) -> dict[str, str]:
    """Lines of the site file that give guest and host a stored key of 2048 bits each."""
    for number, name in enumerate(firms.names):
        save_private_key(firms.folder / f"{name}.paillier", paillier_keys(2048, number).private, None)
    return {name: f"paillier_key = '{name}.paillier'" for name in firms.names}
