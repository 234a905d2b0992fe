"""Examples in the tutorials are the files that run, and the job that a reader types in passes every check."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.documents.markdown import ROOT, TEXTS, blocks

from hekat.run.horizontal.load_inputs import load_inputs


@pytest.mark.parametrize(
    ("page", "file"),
    [("encrypted_arrays.md", "arrays.py"), ("blind_signatures.md", "blind_signatures.py")],
)
def test_the_examples_are_the_files_that_run(page: str, file: str) -> None:
    # Their output is checked in tests/encrypted_array/test_arrays_example.py and
    # tests/scheme/rsa/test_blind_signatures_example.py.
    (whole,) = blocks(TEXTS[f"docs/tutorials/{page}"], "python")
    assert whole == (ROOT / "examples" / file).read_text(encoding="utf-8")


def test_the_heart_of_the_own_loop_is_that_of_its_example() -> None:
    (heart,) = blocks(TEXTS["docs/tutorials/own_loop.md"], "python")
    assert heart in (ROOT / "examples" / "own_loop_numpy.py").read_text(encoding="utf-8")


def test_the_loops_of_a_split_network_are_those_of_their_example() -> None:
    hearts = blocks(TEXTS["docs/how_to/split_networks.md"], "python")
    example = (ROOT / "examples" / "own_loop_split.py").read_text(encoding="utf-8")
    # The third shows how a run that stopped is gone on with, in any code.
    assert [heart in example for heart in hearts] == [True, True, False]


def test_the_heart_of_the_selective_loop_is_that_of_its_example() -> None:
    heart, _ = blocks(TEXTS["docs/how_to/selective.md"], "python")
    assert heart in (ROOT / "examples" / "own_loop_selective.py").read_text(encoding="utf-8")


def test_the_job_of_the_tutorial_passes_every_check(tmp_path: Path) -> None:
    job, site = blocks(TEXTS["docs/tutorials/own_data.md"], "toml")
    (tmp_path / "job.toml").write_text(job, encoding="utf-8")
    (tmp_path / "site.toml").write_text(site, encoding="utf-8")
    rng = np.random.default_rng(1)
    for name in ("alpha", "beta", "gamma", "test"):
        rows = [f"{name}-{i},{rng.normal():.3f},{('well', 'ill')[i % 2]}" for i in range(6)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["patient_id,age,outcome", *rows]) + "\n", encoding="utf-8")
    inputs = load_inputs(tmp_path / "job.toml")
    assert {name: len(table) for name, table in inputs.tables.items()} == {"alpha": 6, "beta": 6, "gamma": 6}
    assert inputs.tables["alpha"].feature_names == ("age",)
    assert inputs.test_table is not None


def test_the_demo_takes_the_losses_of_the_tutorial() -> None:
    assert 'LOSE="county:5 riverside:9"' in TEXTS["docs/tutorials/first_hour.md"]
    made = subprocess.run(
        ["make", "-n", "--no-print-directory", "demo", "LOSE=county:5 riverside:9"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    command = made.stdout.strip().splitlines()[-1].split()
    assert command[1:] == ["run", "examples/hospitals/job.toml", "--lose", "county:5", "--lose", "riverside:9"]
