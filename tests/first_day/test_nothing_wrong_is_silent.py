"""What went wrong without a word when newcomers tried it, each played once as they did."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.first_day.customers import made_customers, write_tables
from tests.first_day.visits import HEADER, PARTIES, write_day

from hekat.errors import HekatError
from hekat.estimator import VerticalLogisticRegression

pytestmark = pytest.mark.long

DIVERGED = 3


@pytest.fixture
def trial(day):
    """A day on which the job is written, of few rows, and trains by local steps for two rounds."""
    write_day(day.folder, rows_per_party=300, new_rows=10)
    day.hekat("init", "trial", "--from", *(f"{party}.csv" for party in PARTIES), "--label", "subscribed")
    set_key(day, "algorithm", '"fedavg"')
    set_key(day, "rounds", "2")
    return day


def set_key(day, name: str, value: str) -> None:
    """Give a key of the job another value, whether the line stands at its default or not."""
    path = day.folder / "trial" / "job.toml"
    text, count = re.subn(rf"(?m)^#?{name} = [^#\n]*", f"{name} = {value} ", path.read_text())
    assert count == 1, f"{name} stands {count} times in the job"
    path.write_text(text)
    day.edits += 1


def write_cell(day, party: str, column: str, value: str, *, rows: slice = slice(1, 2)) -> None:
    """Put `value` into that column of these lines of a party's table, the header being line 0."""
    path = day.folder / f"{party}.csv"
    lines = [line.split(";") for line in path.read_text().splitlines()]
    for cells in lines[rows]:
        cells[HEADER.index(column)] = value
    path.write_text("\n".join(";".join(cells) for cells in lines) + "\n")


def test_a_rate_that_diverges_ends_the_command_and_is_no_run_to_resume(trial) -> None:
    set_key(trial, "learning_rate", "1e9")
    shown = trial.hekat("run", "trial/job.toml", code=DIVERGED)
    assert "TRAINING DIVERGED" in shown
    assert "learning_rate" in shown
    assert "--resume" not in shown


def test_training_that_ends_too_early_says_so(trial) -> None:
    assert "NOT CONVERGED: the training loss was still falling" in " ".join(
        trial.hekat("run", "trial/job.toml").split()
    )


def test_a_cell_far_from_all_others_is_told_of(trial) -> None:
    write_cell(trial, "east", "balance", "-1000000000000")
    shown = " ".join(trial.hekat("run", "trial/job.toml").split())
    assert re.search(r"east: .*'balance'.*(far|beyond)", shown)


def test_a_column_that_is_the_same_everywhere_is_told_of(trial) -> None:
    for party in PARTIES:
        write_cell(trial, party, "campaign", "1", rows=slice(1, None))
    shown = " ".join(trial.hekat("run", "trial/job.toml").split())
    assert "hold one value in every row: 'campaign'" in shown


def test_nobody_reads_the_output_and_the_run_ends_as_it_should(trial) -> None:
    program = [sys.executable, "-m", "hekat.cli.main", "run", "trial/job.toml"]
    with subprocess.Popen(program, cwd=trial.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.close()
        run.stderr.close()
        assert run.wait(300) == 0
    assert (trial.last_run() / "report.html").is_file()


def test_a_terminal_without_letters_of_its_own_does_not_end_a_run(trial) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hekat.cli.main", "run", "trial/job.toml"],
        cwd=trial.folder,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"},
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr.decode("ascii")
    done.stdout.decode("ascii")


def test_what_a_vertical_run_would_refuse_its_dry_run_refuses(day) -> None:
    """Batches so small that each step tells equations: with an arbiter the limits count them."""
    write_tables(day.folder, made_customers(400), only_bank=30, only_insurer=40)
    day.hekat(
        *("init", "trial", "--protocol", "vertical_linear", "--from", "bank.csv", "insurer.csv"),
        *("--label", "late", "--arbiter", "notary"),
    )
    set_key(day, "batch_rows", "16")
    told = " ".join(day.hekat("run", "trial/job.toml", "--dry-run", code=2).split())
    least = re.search(r"cure: .*batch_rows = (\d+)", told)
    assert least is not None
    assert not (day.folder / "runs").exists()
    # The cure works.
    set_key(day, "batch_rows", least[1])
    day.hekat("run", "trial/job.toml", "--dry-run")


def test_frames_in_another_order_are_not_matched_by_position() -> None:
    pandas = pytest.importorskip("pandas", reason="needs hekat[dev]")
    people = made_customers(300)
    names = [row[0] for row in people.bank]
    bank = pandas.DataFrame(people.features[:, :3], columns=["age", "income", "products"], index=names)
    insurer = pandas.DataFrame(people.features[:, 7:9], columns=["claims", "premium"], index=names)
    shuffled = insurer.iloc[np.random.default_rng(1).permutation(300)]
    model = VerticalLogisticRegression(guest="bank", epochs=1)
    with pytest.raises(HekatError, match="index"):
        model.fit({"bank": bank, "insurer": shuffled}, people.late)
    numbered = {"bank": bank.assign(customer=range(300)), "insurer": insurer.assign(customer=range(300))}
    with pytest.raises(HekatError, match="customer"):
        model.fit(numbered, people.late)


def test_scores_on_training_rows_are_never_called_test_rows(trial) -> None:
    shown = trial.hekat("run", "trial/job.toml")
    assert "test rows" not in shown
    page = Path(trial.last_run() / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"[0-9,]+ test rows", page)
