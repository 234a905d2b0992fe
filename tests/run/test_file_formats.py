"""Formats of files: what is read, what a newer or unknown one is answered with, and what format 1 of a job means."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hekat.cli.main import main
from hekat.errors import JobError, StateError
from hekat.job.horizontal.job_file import load_job
from hekat.job.job_head import JOB_FORMAT
from hekat.job.site_file import load_site
from hekat.run.file_formats import FORMATS
from hekat.state import Checkpoint, load_checkpoint, save_checkpoint
from hekat.state.array_file import decode_arrays, encode_arrays
from hekat.state.file_format import FileFormat

JOB = """format = {format}
name = "j"
protocol = "horizontal"
parties = ["a", "b", "c"]
aggregator = "hub"
data = "rows"
weight_max = 100
[training]
optimiser = "{optimiser}"
algorithm = "{algorithm}"
learning_rate = 0.3
{more}
"""


def job(folder: Path, format: object = 1, optimiser: str = "adam", algorithm: str = "fedavg", more: str = "") -> Path:
    path = folder / "job.toml"
    path.write_text(JOB.format(format=format, optimiser=optimiser, algorithm=algorithm, more=more))
    return path


THREE = FileFormat("thing", ("0.1.0", "0.2.0", "0.5.0"), oldest=2)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (4, r"format 2 to 3, which hekat .* reads; got format 4; cure: a newer release wrote it: upgrade"),
        (1, r"got format 1; cure: use hekat 0.2.0, which reads it and writes format 2"),
        (0, "cure: check the file"),
        (-1, "cure: check the file"),
        (True, "cure: check the file"),
        ("2", "cure: check the file"),
        (None, "got no number"),
        ([2], "got no number"),
        (2.0, "cure: check the file"),
    ],
)
def test_other_formats_are_refused_with_what_to_do(found, words) -> None:
    with pytest.raises(StateError, match=words):
        THREE.check(found, "thing x", StateError)


def test_a_range_of_formats_is_read() -> None:
    assert [THREE.check(number, "thing x", StateError) for number in (2, 3)] == [2, 3]
    assert THREE.describe() == "reads format 2 to 3, writes 3 (new in hekat 0.5.0)"


def test_doctor_says_what_is_read_and_written(capsys) -> None:
    main(["doctor"])
    told = capsys.readouterr().out
    for form in FORMATS:
        assert f"{form.kind:<20} {form.describe()}" in told


@pytest.mark.parametrize("found", [JOB_FORMAT.newest + 1, 999])
def test_a_newer_job_is_refused(found, tmp_path, capsys) -> None:
    path = job(tmp_path, found)
    with pytest.raises(JobError, match=f"got format {found}; cure: a newer release wrote it: upgrade"):
        load_job(path)
    assert main(["run", str(path), "--runs", str(tmp_path / "runs")]) == 2
    assert "pip install --upgrade hekat" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_a_newer_site_file_is_refused(tmp_path) -> None:
    (tmp_path / "site.toml").write_text("format = 2\n")
    with pytest.raises(JobError, match=r"site file has another format.*upgrade"):
        load_site(tmp_path / "site.toml")


@pytest.mark.parametrize(
    ("optimiser", "expected"),
    [
        ("adam", {"learning_rate": 0.3, "beta_2": 0.999, "epsilon": 1e-8}),
        ("rmsprop", {"learning_rate": 0.3, "epsilon": 1e-8}),
        ("sgd", {}),
        ("momentum", {}),
    ],
)
def test_format_1_keeps_its_meaning(optimiser, expected, tmp_path) -> None:
    assert dict(load_job(job(tmp_path, 1, optimiser)).settings.training.optimiser_settings) == expected
    assert dict(load_job(job(tmp_path, 2, optimiser)).settings.training.optimiser_settings) == {}
    assert dict(load_job(job(tmp_path, 1, optimiser, "fedsgd")).settings.training.optimiser_settings) == {}


def test_what_a_job_of_format_1_says_goes_before_what_it_meant(tmp_path) -> None:
    path = job(tmp_path, 1, more="optimiser_settings = { beta_2 = 0.9, learning_rate = 0.5 }")
    found = dict(load_job(path).settings.training.optimiser_settings)
    assert found == {"learning_rate": 0.5, "beta_2": 0.9, "epsilon": 1e-8}


def checkpoint(folder: Path, **changes: object) -> Path:
    """A checkpoint with some of its metadata changed; None removes an entry."""
    path = folder / "checkpoint.npz"
    save_checkpoint(path, Checkpoint(bytes(32), 1, {"w": np.zeros(2)}, metrics_history=({"loss": 1.0},)))
    metadata, arrays = decode_arrays(path.read_bytes(), "checkpoint", "x")
    metadata = {name: value for name, value in {**metadata, **changes}.items() if value is not None}
    path.write_bytes(encode_arrays("checkpoint", metadata, arrays))
    return path


def test_a_checkpoint_without_releases_is_of_the_first(tmp_path) -> None:
    assert load_checkpoint(checkpoint(tmp_path, releases=None), bytes(32)).releases == ("0.1.0",)


def test_a_checkpoint_keeps_who_wrote_it(tmp_path) -> None:
    from hekat.state.file_format import this_release

    assert load_checkpoint(checkpoint(tmp_path), bytes(32)).releases == (this_release(),)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"momentum_of_tomorrow": 3, "releases": ["9.9.0"]}, "'momentum_of_tomorrow'; cure: resume with hekat 9.9.0"),
        ({"version": 2}, "got format 2; cure: a newer release wrote it"),
        ({"releases": []}, "releases, a list of texts"),
        ({"releases": "0.2.0"}, "releases, a list of texts"),
        ({"releases": [2]}, "releases, a list of texts"),
    ],
)
def test_a_checkpoint_of_tomorrow_is_refused(changes, words, tmp_path) -> None:
    with pytest.raises(StateError, match=words):
        load_checkpoint(checkpoint(tmp_path, **changes), bytes(32))
