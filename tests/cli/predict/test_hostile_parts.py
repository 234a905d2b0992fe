"""Parts of a vertical model that are damaged, or made to do harm: refused in words, with exit code 2, and nothing
written."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.cli.predict.hostile import (
    CUT_OR_CHANGED,
    RED,
    Change,
    change,
    check_refused,
    cut_or_change,
    damage,
    put,
    say,
)

from hekat.cli.main import main

JOB = """format = 2
name = "loans"
protocol = "vertical_linear"
guest = "bank"
hosts = ["insurer"]
data = "clients"
classes = ["paid", "failed"]
[training]
epochs = 1
learning_rate = 0.1
[intersection]
kind = "aligned"
[protection]
kind = "none"
[column_leak]
accepted = "the guest may learn columns of hosts"
[label_leak]
accepted = "hosts may learn labels"
"""
SITE = """format = 1
[policy]
protections = ["none"]
label_leak_waiver = true
column_leak_waiver = true
[party.bank.data.clients]
source = "csv"
path = "bank.csv"
label = "outcome"
[party.insurer.data.clients]
source = "csv"
path = "insurer.csv"
"""
SHARES, INTERCEPT, MIXING, CALIBRATION = (
    f"part/{name}" for name in ("weight_shares", "intercept_shares", "mixing", "calibration")
)

# Each part has two columns; the guest's are income and debt.
HOSTILE: dict[str, tuple[Change, str]] = {
    "no hosts": (say(hosts=[]), "no hosts"),
    "hosts as one text": (say(hosts="insurer"), "no hosts"),
    "a host twice": (say(hosts=["insurer", "insurer"]), "parties that repeat"),
    "the guest as host": (say(hosts=["bank"]), "parties that repeat"),
    "a party as a path": (say(party="../../x"), "a part of no party"),
    "a party that colours the terminal": (say(guest=RED, party=RED), "control characters"),
    "one holder": (say(share_holders=["bank"]), "holders that are not two"),
    "holders as text": (say(share_holders="ab"), "holders that are no list"),
    "a task of other classes": (say(task="linear"), "a task of other classes"),
    "classes as one text": (say(classes="ab"), "classes that are no list"),
    "a class twice": (say(classes=["paid", "paid"]), "classes that repeat"),
    "one class": (say(classes=["paid"]), "fewer than two classes"),
    "a class that colours the terminal": (say(classes=["paid", RED]), "classes with control characters"),
    "columns as one text": (say(columns="ab"), "columns that are no list"),
    "a column twice": (say(columns=["income", "income"]), "columns that repeat"),
    "a column more": (say(columns=["income", "debt", "age"]), "a standardiser of other columns"),
    "endless bits": (say(feature_bits=float("inf")), "bits that are no whole numbers"),
    "bits as text": (say(value_bits="32"), "bits that are no whole numbers"),
    "half a bit": (say(feature_bits=16.5), "bits that are no whole numbers"),
    "too many bits": (say(feature_bits=10**9), "fixed_point.feature_bits"),
    "a key of no size": (say(key_bits=-2048), "bits of a key that none has"),
    "another intersection": (say(intersection="none"), "no way to read rows by"),
    "intersections as a list": (say(intersection=["ecdh"]), "no way to read rows by"),
    "an endless key": (say(intersection_key_bits=float("inf")), "bits that are no whole numbers"),
    "a vast key": (say(intersection_key_bits=10**9), "bits of a key that no intersection has"),
    "sparse as text": (say(sparse="no"), "no way to read rows by"),
    "a job without a name": (say(job=5), "names that are no texts"),
    "a job that colours the terminal": (say(job=RED), "names with control characters"),
    "a model's name that is no text in UTF-8": (say(model_id="a\ud800"), "names with control characters"),
    "a target's mean of NaN": (say(target_mean=float("nan")), "numbers beyond reason"),
    "a target's spread beyond floats": (say(target_spread=10**400), "numbers beyond reason"),
    "a limit of infinity": (say(limit_spreads=float("inf")), "numbers beyond reason"),
    "descriptions as text": (say(column_specs="x"), "columns are not described as a table"),
    "means beyond reason": (put("means", [1e308, 0.0]), "a standardiser beyond reason"),
    "whole means": (put("means", [0, 1]), "a standardiser beyond reason"),
    "a spread that divides to infinity": (put("spreads", [1e-320, 1.0]), "a spread that is none"),
    "shares of more targets": (change(SHARES, lambda one: np.repeat(one, 2, axis=1)), "shares of another shape"),
    "fewer shares than columns": (change(SHARES, lambda one: one[:1]), "shares of another shape"),
    "a deep intercept": (change(INTERCEPT, lambda one: one[None]), "shares of another shape"),
    "shares as floats": (change(SHARES, lambda one: one.astype(np.float64)), "shares of another kind"),
    "an unknown array": (put("part/evil", np.ones(3, np.uint64)), "other arrays"),
    "a mixing of whole numbers": (put(MIXING, np.ones(2, np.int64)), "a mixing of other columns"),
    "a mixing beyond reason": (put(MIXING, np.full(2, 1e300)), "a mixing of other columns"),
    "a calibration beyond reason": (put(CALIBRATION, [[1e308, 1e308]]), "a calibration that is none"),
    "a calibration of other classes": (put(CALIBRATION, np.ones((3, 2))), "a calibration of other classes"),
    # Each of these is a whole part by itself, and not the other party's.
    "scales of its own": (say(feature_bits=12), "say different things of one model"),
    "classes of its own": (say(classes=["failed", "paid"]), "say different things of one model"),
    "rows matched in its own way": (say(intersection="ecdh"), "say different things of one model"),
    "another job": (say(job="others"), "say different things of one model"),
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run's folder called run, and what it was made of."""
    folder = tmp_path_factory.mktemp("loans")
    values = np.random.default_rng(5).normal(size=(40, 4))
    rows = [",".join(f"{value:.4f}" for value in row) for row in values]
    outcome = np.where(values.sum(axis=1) > 0, "failed", "paid")
    bank = [f"{','.join(row.split(',')[:2])},{told}" for row, told in zip(rows, outcome, strict=True)]
    (folder / "bank.csv").write_text("\n".join(["income,debt,outcome", *bank]) + "\n")
    (folder / "insurer.csv").write_text("\n".join(["claims,age", *(",".join(row.split(",")[2:]) for row in rows)]))
    (folder / "job.toml").write_text(JOB)
    (folder / "site.toml").write_text(SITE)
    assert main(["run", str(folder / "job.toml"), "--runs", str(folder / "runs")]) == 0
    (run,) = (folder / "runs").iterdir()
    run.rename(folder / "run")
    return folder


@pytest.fixture
def folder(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, a copy of `trained`."""
    shutil.copytree(trained, tmp_path / "loans")
    monkeypatch.chdir(tmp_path / "loans")
    return tmp_path / "loans"


def predict() -> int:
    return main(["predict", "run", "--site", "site.toml", "--source", "clients", "--out", "answers.csv"])


@pytest.mark.long
def test_the_sound_parts_predict(folder: Path) -> None:
    assert predict() == 0
    assert (folder / "answers.csv").exists()


@pytest.mark.quick_values
@pytest.mark.parametrize("party", ["bank", "insurer"])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_part_is_refused_in_words(name: str, party: str, folder: Path, capsys) -> None:
    how, words = HOSTILE[name]
    damage(folder / "run" / "parts" / f"{party}.npz", "model part", how)
    check_refused(predict, folder, words, capsys)


@CUT_OR_CHANGED
def test_a_part_that_was_cut_or_changed_is_refused(length: int, folder: Path, capsys) -> None:
    cut_or_change(folder / "run" / "parts" / "insurer.npz", length)
    assert predict() == 2
    assert "damaged or was not written by Hekat" in capsys.readouterr().err
    assert not (folder / "answers.csv").exists()
