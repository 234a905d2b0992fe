"""Commands that are given another path than they ask for: a folder of runs, a folder of a job, one file for another."""

from __future__ import annotations

from pathlib import Path

import pytest

from hekat.cli.main import main

RUNS = ("20260101T000000Z-0123ab", "20260301T000000Z-00aaff")
COMMANDS = (
    ["predict", "runs", "--data", "new.csv"],
    ["audit", "runs"],
    ["report", "runs"],
    ["run", "job.toml", "--resume", "runs"],
)


@pytest.fixture
def told(workplace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """What an order is answered with, which is refused, in the folder of a small job with two runs in runs/."""
    monkeypatch.chdir(workplace.folder)
    for name in (*RUNS, "notes"):
        (workplace.folder / "runs" / name).mkdir(parents=True)

    def tell(*order: str) -> str:
        assert main(list(order)) == 2
        return " ".join(capsys.readouterr().err.split())

    return tell


@pytest.mark.parametrize("order", COMMANDS, ids=lambda order: order[0])
def test_a_folder_of_runs_is_answered_with_the_newest_of_them(order: list[str], told) -> None:
    assert f"give one of the runs in it, such as the newest: runs/{RUNS[1]}" in told(*order)


@pytest.mark.parametrize("order", COMMANDS, ids=lambda order: order[0])
def test_a_folder_without_runs_is_answered_as_before(order: list[str], told) -> None:
    for name in RUNS:
        Path("runs", name).rmdir()
    assert "the newest" not in told(*order)


def test_the_folder_of_a_job_is_answered_with_the_job(told, workplace) -> None:
    assert f"give the path of the file itself: {workplace.folder}/job.toml" in told("run", str(workplace.folder))
    assert "give the path of the file itself" in told("run", "runs")
    assert "job.toml" not in told("run", "runs").partition("cure")[2]


def test_a_site_file_in_place_of_a_job_and_a_job_in_place_of_a_site_file(told) -> None:
    for order in (["run", "site.toml"], ["job", "digest", "site.toml"]):
        answer = told(*order)
        assert "site.toml is no job file, but a site file" in answer
        assert "add protocol" not in answer
    answer = told("run", "job.toml", "--site", "job.toml")
    assert "job.toml is no site file, but a job file" in answer
    assert "upgrade" not in answer


def test_a_job_without_a_protocol_is_still_told_so(told, workplace) -> None:
    workplace.edit("job.toml", 'protocol = "horizontal"\n', "")
    assert "protocol is missing" in told("run", "job.toml")


@pytest.mark.parametrize(
    ("order", "cure"),
    [
        (["predict", "runs", "--data", "new.csv", "--ids", "who"], "did you mean --id? See hekat predict --help"),
        (["run", "job.toml", "--nonsense"], "hekat run --help"),
        (["keys", "party", "a.key", "b.key"], "hekat keys --help"),
    ],
)
def test_an_unknown_option_is_answered_with_the_command_it_was_given_to(
    order: list[str], cure: str, told, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(order)
    assert stop.value.code == 2
    answer = capsys.readouterr().err
    assert answer.startswith(f"error: unrecognized arguments: {' '.join(order[4:] or order[3:] or order[2:])}")
    assert cure[: cure.index("hekat")] in answer
    assert answer.rstrip().endswith(cure[cure.index("hekat") :])
