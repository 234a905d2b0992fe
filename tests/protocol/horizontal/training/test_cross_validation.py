"""Folds: each model is the one that its rows alone make, metrics are of the fold's rows, and a stop costs one fold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hekat.data import Table
from hekat.errors import InputError, PolicyError
from hekat.model import evaluate
from hekat.protocol.horizontal.settings import ModelSettings, TrainingSettings
from hekat.protocol.horizontal.training import loop as training_module
from hekat.protocol.horizontal.training.local_run import LocalRun, build_model
from hekat.protocol.horizontal.training.loop import train
from hekat.protocol.horizontal.training.validation import fold_group, split_fold
from hekat.protocol.horizontal.validation_settings import ValidationSettings
from hekat.protocol.secure_sum.aggregation import Alone
from hekat.protocol.stopwatch import Stopwatch

FOLDS = ValidationSettings(folds=3)
FEDAVG = TrainingSettings(algorithm="fedavg", round_count=2, batch_rows=8, seed=6, standardise=False)
MODELS = {"two classes": ModelSettings(), "three classes": ModelSettings(), "number": ModelSettings("linear")}


def made(tables_of, settings_of, task: str = "two classes", **others):
    """Tables of one scale, so that they need no standardising, and settings with three folds."""
    scale = np.array([1.0, 200.0, 1e-3, 7.0])
    shift = np.array([0.0, 1000.0, 0.0, -3.0])
    tables = {
        name: replace(table, features=(table.features - shift) / scale)
        for name, table in tables_of(31, task=task, rows=(24, 9, 40)).items()
    }
    chosen = {"training": FEDAVG, "protection": "none", "task": task, "model": MODELS[task]} | others
    return tables, replace(settings_of(**chosen), validation=FOLDS)


@pytest.mark.quick_cases("none-three classes", "none-two classes")
@pytest.mark.parametrize("task", MODELS)
@pytest.mark.parametrize("protection", ["paillier", "none"])
def test_a_fold_is_measured_by_the_model_of_the_other_rows(protection, task, rehearse, tables_of, settings_of) -> None:
    tables, settings = made(tables_of, settings_of, task, protection=protection)
    state = rehearse(settings, tables).run()
    assert [found["rounds"] for found in state.folds] == [2, 2, 2]
    assert sum(found["rows"] for found in state.folds) == 73
    for number, found in enumerate(state.folds, 1):
        parts = {name: split_fold(table, number, settings) for name, table in tables.items()}
        alike = replace(settings, validation=ValidationSettings())
        other = rehearse(alike, {name: kept for name, (kept, _) in parts.items()}).run()
        features = np.concatenate([fold.features for _, fold in parts.values()])
        labels = np.concatenate([fold.labels for _, fold in parts.values()])
        expected = evaluate(build_model(settings, 4), other.parameters, features, labels)
        if task == "number":
            assert found["rmse"] == pytest.approx(expected["rmse"], rel=1e-6)
            assert found["r2"] == pytest.approx(expected["r2"], abs=1e-6)
        else:
            assert found["accuracy"] == expected["accuracy"]
            assert found["log_loss"] == pytest.approx(expected["log_loss"], rel=1e-6)
            assert abs(found["auc"] - expected["auc"]) <= found["auc_error"] + 1e-6


def test_the_runs_own_model_is_the_one_of_all_rows(rehearse, tables_of, settings_of) -> None:
    tables, settings = made(tables_of, settings_of)
    state = rehearse(settings, tables).run()
    other = rehearse(replace(settings, validation=ValidationSettings()), tables).run()
    for name, values in state.parameters.items():
        assert values.tobytes() == other.parameters[name].tobytes()
    assert state.losses == other.losses


def test_rows_of_a_fold_touch_no_bit_of_its_model(rehearse, tables_of, settings_of, monkeypatch) -> None:
    tables, settings = made(tables_of, settings_of)
    models: dict[str, list[bytes]] = {"as they are": [], "strangers": []}
    trainer = training_module._Trainer

    def noted(kind: str, split):
        class Noting(trainer):
            def play_rounds(self) -> None:
                super().play_rounds()
                if self._fold:
                    models[kind].append(b"".join(self.state.parameters[name].tobytes() for name in ("bias", "weight")))

        monkeypatch.setattr(training_module, "_Trainer", Noting)
        monkeypatch.setattr(training_module, "split_fold", split)
        return rehearse(settings, tables).run()

    def with_strangers(table: Table, fold: int, chosen) -> tuple[Table, Table]:
        kept, held = split_fold(table, fold, chosen)
        return kept, Table(held.features[::-1] * 1.5, np.roll(held.labels, 1), held.feature_names, held.name)

    found, other = noted("as they are", split_fold), noted("strangers", with_strangers)
    assert sorted(models["as they are"]) == sorted(models["strangers"])
    assert len(models["strangers"]) == 9
    assert found.folds != other.folds


@pytest.mark.parametrize("algorithm", ["lbfgs", "scaffold", "fedsgd"])
def test_other_algorithms_train_folds_from_their_beginning(algorithm, rehearse, tables_of, settings_of) -> None:
    training = TrainingSettings(algorithm=algorithm, round_count=3, seed=6, standardise=False, batch_rows=32)
    tables, settings = made(tables_of, settings_of, training=training, model=ModelSettings(l2=0.01))
    state = rehearse(settings, tables).run()
    parts = {name: split_fold(table, 2, settings) for name, table in tables.items()}
    alike = replace(settings, validation=ValidationSettings())
    other = rehearse(alike, {name: kept for name, (kept, _) in parts.items()}).run()
    features = np.concatenate([fold.features for _, fold in parts.values()])
    labels = np.concatenate([fold.labels for _, fold in parts.values()])
    loss = evaluate(build_model(settings, 4), other.parameters, features, labels)["log_loss"]
    # A line search takes the curvature of all rows for its first step, and so comes another way.
    allowed = 0.05 if algorithm == "lbfgs" else 1e-9
    assert state.folds[1]["log_loss"] == pytest.approx(loss, rel=allowed)


@pytest.mark.parametrize("folds_done", [0, 1, 3])
def test_a_run_goes_on_after_the_folds_that_are_done(folds_done, rehearse, tables_of, settings_of) -> None:
    tables, settings = made(tables_of, settings_of)
    rehearsal = rehearse(settings, tables)
    state = rehearsal.run()
    before = next(kept for kept in rehearsal.saved if kept.rounds_done == 2 and len(kept.folds) == folds_done)
    again = rehearse(settings, tables, resume_from=before).run()
    assert again.folds == state.folds
    for name, values in state.parameters.items():
        assert values.tobytes() == again.parameters[name].tobytes()


def test_folds_are_told_one_by_one(tables_of, settings_of) -> None:
    tables, settings = made(tables_of, settings_of)
    told: list[tuple[int, dict[str, float]]] = []
    local = LocalRun(
        Stopwatch(), lambda record, state: None, lambda state: None, on_fold=lambda *found: told.append(found)
    )
    state = train(Alone(), tables["c"], settings, local, party="c")
    assert [done for done, _ in told] == [0, 1, 2, 3]
    assert [found for _, found in told[1:]] == state.folds


def test_every_sum_takes_every_party(settings_of) -> None:
    """Sums over folds, with a party and without it, would tell that party's part."""
    settings = settings_of(protection="lattice", parties=("a", "b", "c", "d", "e"))
    assert settings.sums.min_parties == 0
    assert replace(settings, validation=FOLDS).sums.min_parties == 5


@pytest.mark.parametrize(
    ("validation", "training", "what"),
    [
        (ValidationSettings(folds=1), {}, "validation.folds"),
        (ValidationSettings(folds=101), {}, "validation.folds"),
        (ValidationSettings(folds=-2), {}, "validation.folds"),
        (ValidationSettings(folds=3, hold_out=0.2), {}, "folds and rows held out"),
        (ValidationSettings(folds=3, every=2), {}, "validation.every"),
        (FOLDS, {"participation": 0.7}, "training.participation"),
        (FOLDS, {"min_parties": 2}, "training.min_parties"),
    ],
)
def test_settings_that_cannot_be_are_refused(validation, training, what, settings_of) -> None:
    with pytest.raises((InputError, PolicyError), match=what):
        replace(settings_of(training=replace(FEDAVG, **training)), validation=validation)


def test_all_sums_of_a_fold_are_of_one_group() -> None:
    assert fold_group(2) == "fold-2"
