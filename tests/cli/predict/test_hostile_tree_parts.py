"""Parts of a model of trees across columns that are damaged, or made to do harm: refused in words, with exit code 2,
and nothing written."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.cli.predict.hostile import (
    CUT_OR_CHANGED,
    RED,
    Change,
    at,
    change,
    check_refused,
    cut_or_change,
    damage,
    drop,
    put,
    say,
)

from hekat.cli.main import main
from hekat.state.array_file import decode_arrays

JOB = """format = 2
name = "loans"
protocol = "vertical_trees"
guest = "bank"
hosts = ["insurer"]
data = "clients"
classes = ["paid", "failed"]
[training]
max_iter = 2
max_depth = 2
min_samples_leaf = 5
max_bins = 8
[intersection]
kind = "aligned"
[protection]
kind = "none"
[bin_leak]
accepted = "the guest may learn bins of hosts"
"""
SITE = """format = 1
[policy]
protections = ["none"]
bin_leak_waiver = true
[party.bank.data.clients]
source = "csv"
path = "bank.csv"
label = "outcome"
[party.insurer.data.clients]
source = "csv"
path = "insurer.csv"
"""

# Each part has two columns; the guest's are income and debt.
OF_BOTH: dict[str, tuple[Change, str]] = {
    "no hosts": (say(hosts=[]), "no hosts"),
    "hosts as one text": (say(hosts="insurer"), "no hosts"),
    "a host twice": (say(hosts=["insurer", "insurer"]), "parties that repeat"),
    "the guest as host": (say(hosts=["bank"]), "parties that repeat"),
    "a party as a path": (say(party="../../x"), "a part of no party"),
    "a party that colours the terminal": (say(guest=RED, party=RED), "control characters"),
    "a task of no trees": (say(task="linear"), "a part of no task, or of other classes"),
    "a task of other classes": (say(task="regression"), "a part of no task, or of other classes"),
    "classes as one text": (say(classes="ab"), "classes that are no list"),
    "a class twice": (say(classes=["paid", "paid"]), "classes that repeat"),
    "one class": (say(classes=["paid"]), "fewer than two classes"),
    "a class that colours the terminal": (say(classes=["paid", RED]), "classes with control characters"),
    "columns as one text": (say(columns="ab"), "columns that are no list"),
    "a column twice": (say(columns=["income", "income"]), "columns that repeat"),
    "a column more": (say(columns=["income", "debt", "wealth"]), "of another kind"),
    "iterations in words": (say(iterations="2"), "a number of iterations that is none"),
    "fewer iterations than none": (say(iterations=-1), "a number of iterations that is none"),
    "another intersection": (say(intersection="none"), "no way to read rows by"),
    "a vast key": (say(intersection_key_bits=10**9), "bits of a key that no intersection has"),
    "sparse as text": (say(sparse="no"), "no way to read rows by"),
    "a job without a name": (say(job=5), "names that are no texts"),
    "a job that colours the terminal": (say(job=RED), "names with control characters"),
    "descriptions as text": (say(column_specs="x"), "columns are not described as a table"),
    "a format of the future": (say(format=2), "another format"),
    "edges that fall": (change("part/edges", lambda edges: edges[::-1]), "edges of bins that do not rise"),
    "an edge of NaN": (change("part/edges", at(0, np.nan)), "numbers beyond reason"),
    "an edge beyond reason": (change("part/edges", at(-1, 1e300)), "numbers beyond reason"),
    "edges of nobody": (change("part/edges", lambda edges: edges[:-1]), "bins of other columns"),
    "bins from elsewhere": (change("part/edge_starts", at(1, 1 << 40)), "bins of other columns"),
    "kinds of other columns": (change("part/is_category", lambda kinds: kinds[:1]), "of another kind"),
    "no bins": (drop("part/edges"), "edges that are missing"),
    # Each of these is a whole part by itself, and not the other party's.
    "another job": (say(job="others"), "say different things of one model"),
    "rows matched in its own way": (say(intersection="ecdh"), "say different things of one model"),
    "classes of its own": (say(classes=["failed", "paid"]), "say different things of one model"),
}
OF_THE_GUEST: dict[str, tuple[Change, str]] = {
    "columns of no host": (say(host_columns={}), "columns of other hosts"),
    "columns in words": (say(host_columns={"insurer": "2"}), "numbers of columns that are none"),
    "fewer columns than the host's": (say(host_columns={"insurer": 0}), "numbers of columns that are none"),
    "more iterations than trees": (say(iterations=5), "tree_starts that are missing, or of another kind"),
    "a start beyond reason": (put("part/start_scores", [1e300]), "numbers beyond reason"),
    "starts of other classes": (put("part/start_scores", np.zeros(3)), "start_scores that are missing"),
    "a tree without nodes": (change("part/tree_starts", at(1, 0)), "trees without nodes"),
    "trees from elsewhere": (change("part/tree_starts", at(-1, 1 << 40)), "of another kind"),
    "a circle": (change("part/node_left", at(0, 0)), "nodes that lead to no leaf"),
    "a child beyond the tree": (change("part/node_right", at(0, 1 << 20)), "nodes that lead to no leaf"),
    "a split on no column": (change("part/node_column", at(0, 4)), "nodes of other columns"),
    "a leaf beyond reason": (change("part/node_value", at(-1, 1e300)), "numbers beyond reason"),
    "a leaf of NaN": (change("part/node_value", at(-1, np.nan)), "numbers beyond reason"),
    "a leaf with a host's split": (change("part/node_split_number", at(-1, 0)), "splits of a host without a number"),
    "a host's split that is not there": (
        change("part/node_split_number", lambda one: np.where(one >= 0, 1 << 20, one)),
        "splits of a host that are missing, or that repeat",
    ),
    "a host's split twice": (
        change("part/node_split_number", lambda one: np.where(one >= 0, 0, one)),
        "splits of a host that are missing, or that repeat",
    ),
    "columns that the host does not have": (
        say(host_columns={"insurer": 3}),
        "say different things of one model",
    ),
    "half the bins of a node": (change("part/node_left_bins", lambda bins: bins[:, :16]), "of another kind"),
    "fewer leaves": (change("part/node_value", lambda values: values[:-1]), "of another kind"),
}
OF_A_HOST: dict[str, tuple[Change, str]] = {
    "trees of its own": (say(host_columns={"insurer": 2}), "columns of other hosts"),
    "a split on no column": (change("part/split_columns", at(0, 2)), "splits of other columns"),
    "a split before the first column": (change("part/split_columns", at(0, -1)), "splits of other columns"),
    "half the bins of a split": (change("part/split_left", lambda bins: bins[:, :16]), "of another kind"),
    "fewer splits": (change("part/split_left", lambda bins: bins[:-1]), "of another kind"),
    "no splits": (drop("part/split_columns"), "split_columns that are missing"),
    "splits that the guest asks for and that are gone": (
        lambda metadata, arrays: arrays.update(
            {name: arrays[name][:0].copy() for name in ("part/split_columns", "part/split_left")}
        ),
        "the same splits in the parts of bank and insurer",
    ),
}
HOSTILE = [
    *(("bank", name) for name in {**OF_BOTH, **OF_THE_GUEST}),
    *(("insurer", name) for name in {**OF_BOTH, **OF_A_HOST}),
]


def train(folder: Path) -> Path:
    """The folder, with a run's folder called run, and what it was made of."""
    values = np.random.default_rng(5).normal(size=(80, 4))
    rows = [[f"{value:.4f}" for value in row] for row in values]
    outcome = np.where(values[:, 0] + 2 * values[:, 2] > 0, "failed", "paid")
    bank = [",".join([*row[:2], told]) for row, told in zip(rows, outcome, strict=True)]
    (folder / "bank.csv").write_text("\n".join(["income,debt,outcome", *bank]) + "\n")
    (folder / "insurer.csv").write_text("\n".join(["claims,age", *(",".join(row[2:]) for row in rows)]) + "\n")
    (folder / "job.toml").write_text(JOB)
    (folder / "site.toml").write_text(SITE)
    assert main(["run", str(folder / "job.toml"), "--runs", str(folder / "runs")]) == 0
    (run,) = (folder / "runs").iterdir()
    run.rename(folder / "run")
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("loans"))


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
    _, guest = decode_arrays((folder / "run" / "parts" / "bank.npz").read_bytes(), "trees part", "the part")
    # The trees ask the host, so that its part counts.
    assert (guest["part/node_split_number"] >= 0).any()
    assert predict() == 0
    assert (folder / "answers.csv").exists()


@pytest.mark.parametrize(("party", "name"), HOSTILE)
def test_a_hostile_part_is_refused_in_words(party: str, name: str, folder: Path, capsys) -> None:
    make, words = {**OF_BOTH, **(OF_THE_GUEST if party == "bank" else OF_A_HOST)}[name]
    damage(folder / "run" / "parts" / f"{party}.npz", "trees part", make)
    check_refused(predict, folder, words, capsys)


@CUT_OR_CHANGED
def test_a_part_that_was_cut_or_changed_is_refused(length: int, folder: Path, capsys) -> None:
    cut_or_change(folder / "run" / "parts" / "insurer.npz", length)
    assert predict() == 2
    assert "damaged or was not written by Hekat" in capsys.readouterr().err
    assert not (folder / "answers.csv").exists()
