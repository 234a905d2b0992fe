"""Model files that are damaged, or made to do harm: refused in words, with exit code 2, and nothing written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.predict.clinics_job import COLUMNS, job_in
from tests.cli.predict.hostile import RED, Change, put, say

from hekat.cli.main import main
from hekat.data.columns.specs import MOST_CATEGORIES
from hekat.job.model_source import PartyModel
from hekat.model import make_model
from hekat.protocol.horizontal.training.standardise import Standardiser
from hekat.protocol.horizontal.training.training_state import TrainingState
from hekat.run.horizontal.trained_model import save_trained_model
from hekat.state import load_model, save_model


def describe(**columns: Any) -> Change:
    return say(column_specs={"dose": {"fill": 2.0}, **columns})


def with_categories(count: int) -> Change:
    """A model that is whole, with so many categories of one column."""
    texts = [f"text {number}" for number in range(count)]

    def change(metadata: dict[str, Any], arrays: dict[str, Any]) -> None:
        columns = ["age", "dose", *(f"ward={text}" for text in texts)]
        metadata.update(columns=columns, column_specs={"dose": {"fill": 2.0}, "ward": {"categories": texts}})
        arrays.update(weight=np.ones((len(columns), 1)))
        arrays.update({"standardiser/mean": np.zeros(len(columns)), "standardiser/spread": np.ones(len(columns))})

    return change


HOSTILE: dict[str, tuple[Change, str]] = {
    "no whole layer": (say(model="mlp", hidden=[1.5]), "hidden layers"),
    "an endless layer": (say(model="mlp", hidden=[float("inf")]), "hidden layers"),
    "layers without end": (say(model="mlp", hidden=[4] * 100_000), "hidden layers"),
    "layers as text": (say(hidden="12"), "hidden layers"),
    "another network": (say(model="mlp", hidden=[2**40]), "other names than the model's"),
    "a penalty of NaN": (say(l2=float("nan")), "l2 refused"),
    "classes as one text": (say(classes="ab"), "classes that are no list"),
    "a class twice": (say(classes=["no", "no"]), "classes that repeat"),
    "a class that colours the terminal": (say(classes=[RED, "yes"]), "classes with control characters"),
    "more classes than the model": (say(classes=["no", "yes", "both"]), "wrong layout"),
    "columns as one text": (say(columns="abcd"), "columns that are no list"),
    "a column twice": (say(columns=["age", "age", "dose", "ward=in"]), "columns that repeat"),
    "a column that colours the terminal": (say(columns=["age", "dose", "ward=in", RED]), "control characters"),
    "unknown columns": (say(columns=["age", "weight", "ward=in", "ward=out"]), "columns that the model does not have"),
    "a false vocabulary": (describe(ward={"categories": ["in", "up"]}), "columns that the model does not have"),
    "a longer vocabulary": (describe(ward={"categories": ["in", "out", "up"]}), "columns that the model does not"),
    "a shorter vocabulary": (describe(ward={"categories": ["in"]}), "without 'ward=out'"),
    "no list of texts": (describe(ward={"categories": [["in"], "out"]}), "columns.ward.categories"),
    "too many categories": (with_categories(MOST_CATEGORIES + 1), "columns.ward.categories refused"),
    "descriptions as text": (say(column_specs="x"), "columns are not described as a table"),
    "sparse as text": (say(sparse="no"), "sparse or code"),
    "code as a list": (say(code=[1]), "sparse or code"),
    "a model without a name": (say(model=["logistic"]), "a model without a name"),
    "a model's name as a path": (say(model="../../x"), "a site's own code"),
    "a model of the site's own called trees": (say(model="trees"), "a site's own code"),
    "no format": (say(format=None), "another format"),
    "weights of NaN": (put("weight", np.full((4, 1), np.nan)), "parameters beyond reason"),
    "weights beyond reason": (put("weight", np.full((4, 1), 1e200)), "parameters beyond reason"),
    "weights of whole numbers": (put("weight", np.ones((4, 1), dtype=np.int64)), "no numbers"),
    "weights of another shape": (put("weight", np.ones((3, 1))), "weight has the wrong layout"),
    "unknown weights": (put("evil", np.ones(3)), "unknown evil"),
    "an infinite spread": (put("standardiser/spread", np.full(4, np.inf)), "parameters beyond reason"),
    "a spread that divides to infinity": (put("standardiser/spread", np.full(4, 1e-320)), "too large to standardise"),
    "spreads of another shape": (put("standardiser/spread", np.ones((4, 1))), "a standardiser of other columns"),
    "a mean beyond reason": (put("standardiser/mean", np.full(4, 1e308)), "parameters beyond reason"),
    "a fill of other columns": (put("standardiser/fill", np.zeros(3)), "fills of other columns"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a sound model in run/ and rows to predict in new.csv."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    weights = {"weight": np.array([[1.0], [-0.5], [0.25], [-0.75]]), "bias": np.array([0.125])}
    state = TrainingState(weights, {}, Standardiser(np.array([50.0, 2.0, 0.0, 0.0]), np.ones(4)))
    made = PartyModel(make_model("logistic", 4, 2))
    save_trained_model(tmp_path / "run", job_in(tmp_path), state, COLUMNS, made)
    (tmp_path / "new.csv").write_text("age,dose,ward\n61,1,in\n44,,out\n")
    return tmp_path


def predict() -> int:
    return main(["predict", "run", "--data", "new.csv", "--out", "answers.csv"])


def test_the_sound_model_predicts(folder: Path) -> None:
    assert predict() == 0
    assert (folder / "answers.csv").exists()


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_model_is_refused_in_words(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change, words = HOSTILE[name]
    arrays, metadata = load_model(folder / "run" / "model.npz")
    change(metadata, arrays)
    save_model(folder / "run" / "model.npz", arrays, metadata)
    assert predict() == 2
    told = capsys.readouterr()
    assert words in " ".join(told.err.split())
    assert "defect" not in told.err
    assert "\x1b" not in told.out + told.err
    assert sorted(path.name for path in folder.iterdir()) == ["job.toml", "new.csv", "run"]


@pytest.mark.parametrize("length", [0, 1, 100, -1])
def test_a_model_that_was_cut_or_changed_is_refused(length: int, folder: Path, capsys) -> None:
    path = folder / "run" / "model.npz"
    whole = path.read_bytes()
    other = whole.replace(np.float64(-0.5).tobytes(), np.float64(-0.25).tobytes())
    path.write_bytes(other if length < 0 else whole[:length])
    assert predict() == 2
    assert "damaged or was not written by Hekat" in capsys.readouterr().err
    assert not (folder / "answers.csv").exists()
