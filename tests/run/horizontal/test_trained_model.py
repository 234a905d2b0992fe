"""Model files: what is written is what predicting finds; files of release 0.1.0 open; others are refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hekat.data import ColumnSpec, ColumnSpecs
from hekat.errors import StateError
from hekat.job.horizontal.job_file import load_job
from hekat.job.model_source import PartyModel
from hekat.model import make_model
from hekat.protocol.horizontal.training.standardise import Standardiser
from hekat.protocol.horizontal.training.training_state import TrainingState
from hekat.run.horizontal.trained_model import load_trained_model, save_trained_model
from hekat.state import load_model, save_model

OLD = Path(__file__).parents[2] / "job" / "releases" / "0.1.0" / "finished_lattice" / "model.npz"
JOB = """format = 1
name = "small"
protocol = "horizontal"
parties = ["a", "b", "c"]
aggregator = "hub"
data = "rows"
classes = ["no", "yes"]
weight_max = 10
sparse = true
[model]
name = "mlp"
hidden = [3]
l2 = 0.5
[columns.colour]
categories = ["red", "blue"]
other = true
"""
COLUMNS = ("age", "colour=red", "colour=blue", "colour=other")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    (tmp_path / "job.toml").write_text(JOB)
    job = load_job(tmp_path / "job.toml")
    model = make_model("mlp", 4, 2, hidden=(3,), l2=0.5)
    state = TrainingState(model.init(1), {}, Standardiser(np.zeros(4), np.full(4, 2.0)), rounds_done=7)
    save_trained_model(tmp_path, job, state, COLUMNS, PartyModel(model))
    return tmp_path


def test_what_is_written_is_found_again(saved: Path) -> None:
    found = load_trained_model(saved)
    assert (found.name, found.hidden, found.l2, found.classes) == ("mlp", (3,), 0.5, ("no", "yes"))
    assert (found.columns, found.source_columns, found.sparse, found.code) == (COLUMNS, ("age", "colour"), True, "")
    assert found.column_specs == ColumnSpecs((ColumnSpec("colour", categories=("red", "blue"), other=True),))
    for name, values in make_model("mlp", 4, 2, hidden=(3,)).init(1).items():
        np.testing.assert_array_equal(found.parameters[name], values)
    np.testing.assert_array_equal(found.standardiser.spread, np.full(4, 2.0))
    assert load_trained_model(saved / "model.npz").columns == COLUMNS
    assert not (saved / "model.safetensors").exists()


def test_the_file_tells_its_release_and_format(saved: Path) -> None:
    with np.load(saved / "model.npz", allow_pickle=False) as file:
        metadata = json.loads(json.loads(str(file["hekat"]))["metadata"])
    assert metadata["format"] == 2
    assert metadata["hekat"].count(".") == 2
    assert metadata["rounds"] == 7


def test_a_model_of_release_0_1_0_opens() -> None:
    assert load_model(OLD)[1]["format"] == 1
    found = load_trained_model(OLD)
    assert found.name == "logistic"
    assert found.classes == ("no", "yes")
    assert found.parameters["weight"].shape == (len(found.columns), 1)
    assert (len(found.column_specs), found.sparse, found.code) == (0, False, "")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda metadata, arrays: metadata.update(format=3), "format 3"),
        (lambda metadata, arrays: metadata.update(format=None), r"model\.npz"),
        (lambda metadata, arrays: metadata.pop("columns"), "does not say how to predict"),
        (lambda metadata, arrays: metadata.update(columns=["age"]), "does not say how to predict"),
        (lambda metadata, arrays: metadata.update(columns=[1, 2, 3, 4]), "does not say how to predict"),
        (lambda metadata, arrays: metadata.update(column_specs={"colour": 3}), "does not say how to predict"),
        (lambda metadata, arrays: metadata.update(hidden="x"), "does not say how to predict"),
        (lambda metadata, arrays: arrays.pop("standardiser/mean"), "does not say how to predict"),
        (lambda metadata, arrays: arrays["standardiser/spread"].fill(0), "does not say how to predict"),
        (lambda metadata, arrays: arrays["layer_1.bias"].fill(np.nan), "does not say how to predict"),
    ],
)
def test_a_file_that_does_not_tell_how_to_predict_is_refused(change, says: str, saved: Path) -> None:
    arrays, metadata = load_model(saved / "model.npz")
    change(metadata, arrays)
    save_model(saved / "model.npz", arrays, metadata)
    with pytest.raises(StateError, match=says):
        load_trained_model(saved)


def test_a_file_that_is_not_there_or_damaged_is_refused(saved: Path) -> None:
    with pytest.raises(StateError, match="cannot be read"):
        load_trained_model(saved / "nowhere.npz")
    (saved / "model.npz").write_bytes((saved / "model.npz").read_bytes()[:-40])
    with pytest.raises(StateError, match="damaged"):
        load_trained_model(saved)
