"""A training that diverges ends with an exit code of its own, and nobody is told to resume it unchanged."""

from __future__ import annotations

import json

import pytest

from hekat.cli.exit_codes import ExitCode
from hekat.report import load_summary


@pytest.mark.quick_cases("1-options1")
@pytest.mark.parametrize(("rounds", "options"), [(3, ()), (1, ()), (3, ("--json",))])
def test_a_rate_far_too_large_is_no_success(workplace, rounds, options) -> None:
    """After one round the loss is still the one of the first weights: then the weights tell."""
    workplace.edit("job.toml", "rounds = 2", f"rounds = {rounds}\nlearning_rate = 1e9")
    answer = workplace.run(*options)
    assert answer.code == ExitCode.DIVERGED
    assert "error: training diverged" in answer.err
    (folder,) = workplace.folders()
    summary = load_summary(folder)
    assert summary["convergence"]["course"] == "diverged"
    if options:
        assert json.loads(answer.out)["convergence"] == summary["convergence"]
        return
    said = " ".join(answer.out.split())
    assert "TRAINING DIVERGED" in said
    assert "set a learning_rate well below 1e+09" in said
    assert "--resume" not in answer.out + answer.err
    assert "TRAINING DIVERGED" in (folder / "report.html").read_text()


@pytest.mark.long
def test_a_run_that_stops_by_divergence_is_not_told_to_resume(workplace) -> None:
    """Updates beyond the largest clipping bound are never sent; the job as it stands would make them again."""
    workplace.edit("job.toml", "rounds = 2", "rounds = 9\nlearning_rate = 30.0")
    workplace.edit("job.toml", "classes = .*", "")
    workplace.edit("job.toml", r"\[training\]", '[model]\nname = "linear"\n\n[training]')
    for _ in range(3):
        workplace.edit("site.toml", 'label = "ill"', 'label = "age"\nignore = ["ill"]')
    answer = workplace.run()
    assert answer.code == ExitCode.REFUSED
    assert (workplace.folders()[0] / "checkpoint.npz").exists()
    assert "lower training.learning_rate" in answer.err
    assert "change it, and begin a new run" in answer.err
    assert "--resume" not in answer.err


@pytest.mark.long
def test_a_run_of_too_few_rounds_says_that_more_would_help(workplace) -> None:
    workplace.edit("job.toml", "rounds = 2", "rounds = 3\nlearning_rate = 0.5")
    answer = workplace.run()
    assert answer.code == 0, answer.err
    (folder,) = workplace.folders()
    assert load_summary(folder)["convergence"]["course"] == "falling"
    assert "NOT CONVERGED: the training loss was still falling" in " ".join(answer.out.split())
    assert "NOT CONVERGED" in (folder / "report.html").read_text()


@pytest.mark.long
def test_a_converged_run_says_nothing_of_more_rounds(workplace) -> None:
    workplace.edit("job.toml", "rounds = 2", "rounds = 6\nlearning_rate = 0.0001")
    answer = workplace.run()
    assert answer.code == 0, answer.err
    assert load_summary(workplace.folders()[0])["convergence"]["course"] == "settled"
    assert "NOT CONVERGED" not in answer.out


@pytest.mark.long
def test_roles_in_processes_end_with_the_code_too(workplace) -> None:
    workplace.shorten()
    workplace.edit("job.toml", "rounds = 2", "rounds = 2\nlearning_rate = 1e9")
    workplace.edit("job.toml", "standardise = false", "standardise = true")
    answer = workplace.run("--processes")
    assert answer.code == ExitCode.DIVERGED, answer.err
