"""A small job on an encrypted model: two clinics train for a laboratory, which has rows to measure on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from hekat.launch.encrypted_model.run import run_encrypted_model_job
from hekat.launch.run_result import RunResult
from hekat.run.encrypted_model.load_inputs import EncryptedModelInputs, load_encrypted_model_inputs

HOSTS = ("north", "lake")
ROLES = (*HOSTS, "lab", "hub", "judge")
SEED = 11


@dataclass
class Clinics:
    """The folder of job, site and tables."""

    folder: Path

    def write_job(
        self,
        more: str = "",
        *,
        head: str = 'test_data = "kept"\n',
        classes: str = 'classes = ["no", "yes"]\n',
        owner: str = "lab",
        training: str = "report_every = 2\n",
        protection: str = "none",
    ) -> Path:
        path = self.folder / "job.toml"
        path.write_text(
            f'format = 2\nname = "clinics"\nprotocol = "encrypted_model"\nhosts = ["north", "lake"]\n'
            "allow_two_parties = true\n"
            f'owner = "{owner}"\naggregator = "hub"\narbiter = "judge"\ndata = "patients"\ntimeout_s = 60\n'
            f"{classes}{head}"
            f"[training]\nrounds = 4\nbatch_rows = 16\nseed = 5\n{training}"
            f'[protection]\nkind = "{protection}"\n'
            f'[columns.town]\ncategories = ["hill", "port"]\nother = true\n{more}'
        )
        return path

    def write_site(self, more: str = "") -> None:
        sources = [f"[party.{name}.data.patients]\n{self.source(name)}" for name in HOSTS]
        sources.append(f"[party.lab.data.kept]\n{self.source('lab')}")
        sources.append(f"[party.lake.data.kept]\n{self.source('lab')}")
        policy = '[policy]\nprotections = ["lattice", "paillier", "none"]\n'
        (self.folder / "site.toml").write_text("format = 1\n" + policy + more + "".join(sources))

    def source(self, name: str) -> str:
        return f'source = "csv"\npath = "{self.folder / name}.csv"\nlabel = "sick"\n'

    def write_tables(self, rows: int = 60, *, numbers: bool = False) -> None:
        rng = np.random.default_rng(SEED)
        for name in (*HOSTS, "lab"):
            age, dose = rng.integers(20, 90, rows), rng.normal(size=rows)
            town = rng.choice(["hill", "port", "mill"], rows)
            score = (age - 55) / 15 + dose + (town == "port") + 0.3 * rng.normal(size=rows)
            labels = [f"{one:.3f}" for one in score] if numbers else np.where(score > 0, "yes", "no").tolist()
            lines = [
                f"{one},{other:.4f},{where},{label}"
                for one, other, where, label in zip(age, dose, town, labels, strict=True)
            ]
            (self.folder / f"{name}.csv").write_text("age,dose,town,sick\n" + "\n".join(lines) + "\n")

    def load_inputs(self, **options) -> EncryptedModelInputs:
        return load_encrypted_model_inputs(self.folder / "job.toml", **options)


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
    """A run of the whole job in the clear, which tests only look at, and that job's files."""

    clinics: Clinics
    result: RunResult


@pytest.fixture(scope="package")
def encrypted(tmp_path_factory) -> Finished:
    """The same under lattice."""
    folder = tmp_path_factory.mktemp("encrypted")
    made = clinics_in(folder / "clinics")
    made.write_job(protection="lattice")
    return Finished(made, run_encrypted_model_job(made.load_inputs(), folder / "runs"))


@pytest.fixture(scope="package")
def finished(tmp_path_factory) -> Finished:
    folder = tmp_path_factory.mktemp("finished")
    made = clinics_in(folder / "clinics")
    return Finished(made, run_encrypted_model_job(made.load_inputs(), folder / "runs"))
