"""Models of trees across rows that are damaged, or made to do harm: refused in words, with exit code 2, and nothing
written."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.predict.hostile import CUT_OR_CHANGED, RED, Change, at, change, cut_or_change, drop, put, say

from hekat.cli.main import main
from hekat.data.columns.specs import MOST_CATEGORIES
from hekat.state import load_model, save_model

JOB = """format = 2
name = "clinics"
protocol = "horizontal_trees"
parties = ["north", "east", "south"]
aggregator = "hub"
data = "visits"
classes = ["no", "yes"]
weight_max = 64
[protection]
kind = "none"
[training]
max_iter = 2
max_depth = 2
min_samples_leaf = 5
max_bins = 8
[columns.ward]
categories = ["in", "out"]
"""
COLUMNS = ["age", "dose", "ward=in", "ward=out"]


def ward(**described: Any) -> Change:
    return say(column_specs={"ward": described})


def with_categories(count: int) -> Change:
    """A model that is whole, with so many categories of one column."""
    texts = [f"text {number}" for number in range(count)]

    def make(metadata: dict[str, Any], arrays: dict[str, Any]) -> None:
        columns = ["age", "dose", *(f"ward={text}" for text in texts)]
        metadata.update(columns=columns, column_specs={"ward": {"categories": texts}})
        starts = arrays["edge_starts"]
        arrays["edge_starts"] = np.append(starts[:3], np.full(count, starts[-1]))

    return make


HOSTILE: dict[str, tuple[Change, str]] = {
    "classes as one text": (say(classes="ab"), "classes that are no list"),
    "a class twice": (say(classes=["no", "no"]), "classes that repeat"),
    "one class": (say(classes=["no"]), "a number of classes that no job has"),
    "a class that colours the terminal": (say(classes=[RED, "yes"]), "classes with control characters"),
    "more classes than the model": (say(classes=["no", "yes", "both"]), "trees of other classes"),
    "no word of classes": (lambda metadata, arrays: metadata.pop("classes"), "does not say how to predict"),
    "columns as one text": (say(columns="abcd"), "columns that are no list"),
    "a column twice": (say(columns=["age", "age", "ward=in", "ward=out"]), "columns that repeat"),
    "a column that colours the terminal": (say(columns=["age", RED, "ward=in", "ward=out"]), "control characters"),
    "a column more": (say(columns=[*COLUMNS, "weight"]), "bins of other columns"),
    "a false vocabulary": (ward(categories=["in", "up"]), "columns that the model does not have"),
    "a longer vocabulary": (ward(categories=["in", "out", "up"]), "columns that the model does not"),
    "a shorter vocabulary": (ward(categories=["in"]), "without 'ward=out'"),
    "no list of texts": (ward(categories=[["in"], "out"]), "columns.ward.categories"),
    "too many categories": (with_categories(MOST_CATEGORIES + 1), "columns.ward.categories refused"),
    "descriptions as text": (say(column_specs="x"), "columns are not described as a table"),
    "no format": (say(format=None), "another format"),
    "a format of the future": (say(format=2), "another format"),
    "another kind of model": (say(model="logistic"), "trees under the name of another model"),
    "a model without a name": (say(model=["trees"]), "trees under the name of another model"),
    "no start": (change("start_scores", lambda scores: scores[:0]), "no start that scores can have"),
    "a start of NaN": (put("start_scores", [np.nan]), "no start that scores can have"),
    "a start beyond reason": (put("start_scores", [1e300]), "no start that scores can have"),
    "starts of other classes": (put("start_scores", np.zeros(3)), "a part of an iteration"),
    "whole starts": (put("start_scores", [0]), "start_scores that are missing, or of another kind"),
    "edges that fall": (change("edges", lambda edges: edges[::-1]), "does not say how to predict"),
    "an edge of NaN": (change("edges", at(0, np.nan)), "does not say how to predict"),
    "edges of nobody": (change("edges", lambda edges: edges[:-1]), "edge_starts of other entries"),
    "edges from elsewhere": (change("edge_starts", at(1, 1 << 40)), "edge_starts of other entries"),
    "more bins than a byte tells": (
        lambda metadata, arrays: arrays.update(
            edges=np.arange(1000.0), edge_starts=np.array([0, 997, 998, 999, 1000], dtype=np.int64)
        ),
        "does not say how to predict",
    ),
    "a circle": (change("node_left", at(0, 0)), "nodes that lead to no leaf"),
    "a child beyond the tree": (change("node_right", at(0, 1 << 20)), "nodes that lead to no leaf"),
    "a leaf with a child": (
        change("node_left", lambda left: np.where(left < 0, 1, left)),
        "nodes that lead to no leaf",
    ),
    "a split on no column": (change("node_column", at(0, 4)), "nodes of other columns"),
    "a leaf beyond reason": (change("node_value", at(-1, 1e300)), "leaves or gains beyond reason"),
    "a leaf of NaN": (change("node_value", at(-1, np.nan)), "leaves or gains beyond reason"),
    "rows fewer than none": (change("node_count", at(0, -1)), "fewer rows than none"),
    "half the bins of a node": (change("node_left_bins", lambda bins: bins[:, :16]), "bins of other nodes"),
    "fewer leaves": (change("node_value", lambda values: values[:-1]), "nodes of different numbers"),
    "columns as floats": (change("node_column", lambda one: one.astype(np.float64)), "of another kind"),
    "a tree without nodes": (change("tree_starts", lambda one: np.insert(one, 0, 0)), "nodes of other columns"),
    "trees that go back": (change("tree_starts", at(1, 1 << 20)), "tree_starts of other entries"),
    # Its trees gone, nothing tells it from a model of rounds, which has standardised columns.
    "no trees": (drop("tree_starts"), "does not say how to predict"),
}


def train(folder: Path) -> Path:
    """The folder, with a run's folder called run, and rows to predict in new.csv."""
    rng, site = np.random.default_rng(7), ["format = 1", "[policy]", 'protections = ["none"]']
    for name in ("north", "east", "south"):
        age, dose, place = rng.integers(20, 90, 40), rng.normal(size=40), rng.choice(["in", "out"], 40)
        sick = np.where((age > 55) ^ (dose > 0.5), "yes", "no")
        rows = [f"{a},{d:.3f},{w},{s}" for a, d, w, s in zip(age, dose, place, sick, strict=True)]
        (folder / f"{name}.csv").write_text("\n".join(["age,dose,ward,sick", *rows]) + "\n")
        site += [f"[party.{name}.data.visits]", 'source = "csv"', f'path = "{name}.csv"', 'label = "sick"']
    (folder / "site.toml").write_text("\n".join(site) + "\n")
    (folder / "job.toml").write_text(JOB)
    (folder / "new.csv").write_text("age,dose,ward\n61,1,in\n44,,out\n")
    assert main(["run", str(folder / "job.toml"), "--runs", str(folder / "runs")]) == 0
    (run,) = (folder / "runs").iterdir()
    run.rename(folder / "run")
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("clinics"))


@pytest.fixture
def folder(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with the sound model and the rows."""
    (tmp_path / "run").mkdir()
    shutil.copy(trained / "run" / "model.npz", tmp_path / "run")
    shutil.copy(trained / "new.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def predict() -> int:
    return main(["predict", "run", "--data", "new.csv", "--out", "answers.csv"])


@pytest.mark.long
def test_the_sound_model_predicts(folder: Path) -> None:
    arrays, metadata = load_model(folder / "run" / "model.npz")
    assert metadata["columns"] == COLUMNS
    assert (arrays["node_column"] >= 0).any()
    assert predict() == 0
    assert len((folder / "answers.csv").read_text().splitlines()) == 3


@pytest.mark.long_cases("too many categories")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_model_is_refused_in_words(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make, words = HOSTILE[name]
    arrays, metadata = load_model(folder / "run" / "model.npz")
    make(metadata, arrays)
    save_model(folder / "run" / "model.npz", arrays, metadata)
    assert predict() == 2
    told = capsys.readouterr()
    assert words in " ".join(told.err.split())
    assert "defect" not in told.err
    assert "\x1b" not in told.out + told.err
    assert sorted(path.name for path in folder.iterdir()) == ["new.csv", "run"]


@CUT_OR_CHANGED
def test_a_model_that_was_cut_or_changed_is_refused(length: int, folder: Path, capsys) -> None:
    cut_or_change(folder / "run" / "model.npz", length)
    assert predict() == 2
    assert "damaged or was not written by Hekat" in capsys.readouterr().err
    assert not (folder / "answers.csv").exists()
