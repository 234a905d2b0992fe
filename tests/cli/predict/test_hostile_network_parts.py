"""Parts of a split network that are damaged, or made to do harm: refused in words, with exit code 2, and nothing
written."""

from __future__ import annotations

import json
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
    every,
    put,
    say,
)

from hekat.cli.main import main

JOB = """format = 2
name = "loans"
protocol = "vertical_network"
guest = "bank"
hosts = ["insurer"]
data = "clients"
classes = ["paid", "failed"]
[network]
units = 4
guest_width = 3
host_width = 4
[training]
epochs = 1
batch_rows = 40
[intersection]
kind = "aligned"
[protection]
kind = "none"
[column_leak]
accepted = "the guest may learn my columns but for a rotation"
"""
SITE = """format = 1
[policy]
protections = ["none"]
column_leak_waiver = true
[party.bank.data.clients]
source = "csv"
path = "bank.csv"
label = "outcome"
[party.insurer.data.clients]
source = "csv"
path = "insurer.csv"
"""
_SHAPE = {
    "units": 4,
    "guest_width": 3,
    "host_width": 4,
    "host_widths": {},
    "bottom_hidden": [],
    "top_hidden": [],
    "activation": "relu",
}

OF_BOTH: dict[str, tuple[Change, str]] = {
    "no hosts": (say(hosts=[]), "no hosts"),
    "a party that colours the terminal": (say(guest=RED, party=RED), "control characters"),
    "a task of no network": (say(task="linear"), "a part of no task, bottom or protection"),
    "a task of other classes": (say(task="regression"), "a task of other classes"),
    "a bottom of nobody": (say(host_bottom="free"), "a part of no task, bottom or protection"),
    "a protection of nobody": (say(protection="rot13"), "a part of no task, bottom or protection"),
    "a bottom that colours the terminal": (say(bottom_kind=RED), "control characters"),
    "a bottom of no kind": (say(bottom_kind="deep"), "a bottom of no kind"),
    "a top that colours the terminal": (say(top_kind=RED), "control characters"),
    "a top of no kind": (say(top_kind="deep"), "a top of no kind"),
    "epochs in words": (say(epochs="1"), "a number of epochs that is none"),
    "fewer epochs than none": (say(epochs=-1), "a number of epochs that is none"),
    "a limit in words": (say(limit_spreads="5"), "a limit that is none"),
    "a limit below none": (say(limit_spreads=-1.0), "a limit that is none"),
    "no shape": (say(network="wide"), "a network without a shape"),
    "a shape of other words": (say(network={**_SHAPE, "depth": 3}), "does not say how to predict"),
    "more units than there may be": (say(network={**_SHAPE, "units": 257}), "network.units refused"),
    "widths of nobody": (say(widths={"shop": 3}), "widths of other parties"),
    "widths in words": (say(widths={"bank": 3, "insurer": "4"}), "widths that are none"),
    "a vast width": (say(widths={"bank": 3, "insurer": 10**9}), "widths that are none"),
    "columns of others": (say(columns=["income"]), "a standardiser of other columns"),
    "a mean of NaN": (change("part/means", at(0, np.nan)), "a standardiser of other columns, or no numbers"),
    "a spread of nothing": (change("part/spreads", at(0, 0.0)), "a spread that is none"),
    "no means": (drop("part/means"), "a standardiser of other columns"),
    "shares of nobody": (drop("part/share/insurer"), "shares of other hosts"),
    "shares that are numbers": (
        change("part/share/insurer", lambda shares: shares.astype(np.float64)),
        "shares of another kind or shape",
    ),
    "fewer shares": (change("part/share/insurer", lambda shares: shares[:-1]), "shares of another kind or shape"),
    "label privacy of no epsilon": (say(label_privacy="2"), "label privacy of no epsilon"),
    "label privacy that bounds nothing": (say(label_privacy=9.0), "label privacy of no epsilon"),
    "label privacy of a true": (say(label_privacy=True), "label privacy of no epsilon"),
    "a waiver of labels in a number": (say(labels_accepted=1), "a waiver of labels that is none"),
    "no word of label privacy": (lambda facts, arrays: facts.pop("label_privacy"), "does not say how to predict"),
    "no word of a waiver": (lambda facts, arrays: facts.pop("labels_accepted"), "does not say how to predict"),
    "a format of the future": (say(format=2), "another format"),
    "another intersection": (say(intersection="none"), "no way to read rows by"),
    "label privacy of its own": (say(label_privacy=2.0), "say different things of one model"),
    "a waiver of labels of its own": (say(labels_accepted=True), "say different things of one model"),
    # Each of these is a whole part by itself, and not the other party's.
    "epochs of its own": (say(epochs=7), "say different things of one model"),
    "classes of its own": (say(classes=["failed", "paid"]), "say different things of one model"),
    "a limit of its own": (say(limit_spreads=4.0), "say different things of one model"),
    "another protection": (say(protection="lattice"), "say different things of one model"),
}
OF_THE_GUEST: dict[str, tuple[Change, str]] = {
    "a vast top": (say(network={**_SHAPE, "top_hidden": [4096] * 1000}), "layers of another shape"),
    "a top of NaN": (change("part/top/layer_1.weight", at(0, np.nan)), "tensors beyond reason"),
    "a top beyond reason": (change("part/top/layer_1.bias", at(0, 1e300)), "tensors beyond reason"),
    "a top of a host's": (say(top_kind="none"), "a top of no kind, or of a party that has none"),
    "a top of nobody's code": (say(top_kind="module"), "needs its own top"),
    "a module's top of NaN": (
        every(change("part/top/layer_1.weight", at(0, np.nan)), say(top_kind="module")),
        "tensors beyond reason",
    ),
    "a layer more": (put("part/top/layer_2.weight", np.zeros((1, 1))), "layers of another shape"),
    "no interactive layer": (drop("part/interactive/weight"), "layers of another shape"),
    "a bottom of others": (change("part/bottom/layer_1.weight", lambda one: one[:1]), "a bottom of another shape"),
    "a spread of many numbers": (put("part/target_spread", [1.0, 2.0]), "a mean or spread of numbers that is none"),
    "no mean of numbers": (drop("part/target_mean"), "does not say how to predict"),
}
OF_A_HOST: dict[str, tuple[Change, str]] = {
    "a bottom of NaN": (change("part/bottom/weight", at(0, np.nan)), "tensors beyond reason"),
    "a narrow bottom": (change("part/bottom/weight", lambda one: one[:, :2]), "a bottom of another shape"),
    "a bottom of texts": (change("part/bottom/bias", lambda one: one.astype(np.int64)), "or no numbers"),
    "a top at a host": (say(top_kind="dense"), "a top of no kind, or of a party that has none"),
    "a bottom of nobody's code": (say(bottom_kind="module"), "needs its own bottom"),
    "a bottom that is none": (say(bottom_kind="source"), "a bottom of no kind, or of another width"),
}
HOSTILE = [
    *(("bank", name) for name in {**OF_BOTH, **OF_THE_GUEST}),
    *(("insurer", name) for name in {**OF_BOTH, **OF_A_HOST}),
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run's folder called run, and what it was made of."""
    return train(tmp_path_factory.mktemp("loans"))


def train(folder: Path, job: str = JOB) -> Path:
    """Fill the folder."""
    values = np.random.default_rng(5).normal(size=(80, 4))
    rows = [[f"{value:.4f}" for value in row] for row in values]
    outcome = np.where(values[:, 0] + 2 * values[:, 2] > 0, "failed", "paid")
    bank = [",".join([*row[:2], told]) for row, told in zip(rows, outcome, strict=True)]
    (folder / "bank.csv").write_text("\n".join(["income,debt,outcome", *bank]) + "\n")
    (folder / "insurer.csv").write_text("\n".join(["claims,age", *(",".join(row[2:]) for row in rows)]) + "\n")
    (folder / "job.toml").write_text(job)
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


def test_the_sound_parts_predict(folder: Path) -> None:
    assert predict() == 0
    assert (folder / "answers.csv").exists()


@pytest.mark.parametrize("change", ["label privacy", "a waiver", "no settings of labels"])
def test_no_summary_opens_scores_to_a_host(change: str, folder: Path, capsys) -> None:
    path = folder / "run" / "summary.json"
    summary = json.loads(path.read_text())
    summary["settings"] |= {"receivers": ["bank", "insurer"]}
    if change == "label privacy":
        summary["settings"] |= {"label_privacy": 1.0}
    if change == "a waiver":
        summary["settings"] |= {"labels_accepted": "the host may learn labels"}
    path.write_text(json.dumps(summary))
    site = folder / "site.toml"
    site.write_text(site.read_text().replace("[policy]", "[policy]\nlabel_leak_waiver = true"))
    assert predict() == 2
    assert "scores tell a host such as insurer the labels" in " ".join(capsys.readouterr().err.split())
    assert not list(folder.glob("answers*"))


@pytest.mark.parametrize(("party", "name"), HOSTILE)
def test_a_hostile_part_is_refused_in_words(party: str, name: str, folder: Path, capsys) -> None:
    make, words = {**OF_BOTH, **(OF_THE_GUEST if party == "bank" else OF_A_HOST)}[name]
    damage(folder / "run" / "parts" / f"{party}.npz", "network part", make)
    check_refused(predict, folder, words, capsys)


@CUT_OR_CHANGED
def test_a_part_that_was_cut_or_changed_is_refused(length: int, folder: Path, capsys) -> None:
    cut_or_change(folder / "run" / "parts" / "insurer.npz", length)
    assert predict() == 2
    assert "damaged or was not written by Hekat" in capsys.readouterr().err
    assert not (folder / "answers.csv").exists()
