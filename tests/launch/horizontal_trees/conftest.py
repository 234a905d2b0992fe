"""A small job of trees across rows of three clinics, with gaps and categories."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from hekat.launch.horizontal_trees.run import run_row_trees_job
from hekat.launch.run_result import RunResult
from hekat.run.horizontal_trees.load_inputs import load_row_trees_inputs

PARTIES = ("north", "lake", "county")
SEED = 11


@dataclass
class Clinics:
    """The folder of job, site and tables."""

    folder: Path

    def write_job(self, more: str = "", head: str = "", classes: str = 'classes = ["no", "yes"]\n') -> Path:
        path = self.folder / "job.toml"
        parties = ", ".join(f'"{name}"' for name in PARTIES)
        path.write_text(
            f'format = 2\nname = "clinics"\nprotocol = "horizontal_trees"\nparties = [{parties}]\naggregator = "hub"\n'
            f'{classes}data = "patients"\nweight_max = 256\ntimeout_s = 60\n{head}\n'
            f"[training]\nmax_iter = 3\nmax_depth = 3\nmin_samples_leaf = 10\nmax_bins = 16\nseed = 5\n"
            f'[columns.town]\ncategories = ["hill", "port", "mill"]\nunknown = "ignore"\n{more}'
        )
        return path

    def write_whole_job(self, more: str = "") -> Path:
        """The job with rows held out, and with a common test set."""
        return self.write_job(f"[validation]\nhold_out = 0.2\n{more}", head='test_data = "test"')

    def write_site(self, more: str = "") -> None:
        sources = [
            f'[party.{name}.data.patients]\nsource = "csv"\npath = "{name}.csv"\nlabel = "sick"\n' for name in PARTIES
        ]
        common = '[common_data.test]\nsource = "csv"\npath = "test.csv"\nlabel = "sick"\n'
        policy = '[policy]\nprotections = ["lattice", "paillier", "none"]\n'
        (self.folder / "site.toml").write_text("format = 1\n" + policy + more + "".join(sources) + common)

    def write_tables(self, rows: int = 120, *, numbers: bool = False) -> None:
        rng = np.random.default_rng(SEED)
        for name in (*PARTIES, "test"):
            age, dose = rng.integers(20, 90, rows), rng.normal(size=rows)
            town = rng.choice(["hill", "port", "mill", ""], rows)
            score = (age - 55) / 15 + dose + (town == "port")
            labels = [f"{one:.3f}" for one in score] if numbers else np.where(score > 0, "yes", "no").tolist()
            gaps = rng.random(rows) < 0.1
            lines = [
                f"{'' if gap else one},{other:.4f},{where},{label}"
                for gap, one, other, where, label in zip(gaps, age, dose, town, labels, strict=True)
            ]
            (self.folder / f"{name}.csv").write_text("age,dose,town,sick\n" + "\n".join(lines) + "\n")

    def load_inputs(self, role: str | None = None):
        return load_row_trees_inputs(self.folder / "job.toml", role=role)


def clinics_in(folder: Path) -> Clinics:
    folder.mkdir()
    found = Clinics(folder)
    found.write_tables()
    found.write_site()
    found.write_job()
    return found


@pytest.fixture
def clinics(tmp_path) -> Clinics:
    return clinics_in(tmp_path / "clinics")


@dataclass
class Finished:
    """A protected run of the whole job, which tests only look at, and that job's files."""

    clinics: Clinics
    result: RunResult


@pytest.fixture(scope="package")
def finished(tmp_path_factory) -> Finished:
    folder = tmp_path_factory.mktemp("finished")
    made = clinics_in(folder / "clinics")
    made.write_whole_job()
    return Finished(made, run_row_trees_job(made.load_inputs(), folder / "runs"))
