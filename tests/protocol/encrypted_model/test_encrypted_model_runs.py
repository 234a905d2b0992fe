"""Trainings end where the steps one by one end, for every protection, task, owner and option."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.protocol.encrypted_model.play import (
    AGGREGATOR,
    ARBITER,
    HOSTS,
    OWNER,
    make_settings,
    make_tables,
    play,
)
from tests.protocol.encrypted_model.steps_in_float import train_in_steps

SEED = 3


@pytest.mark.parametrize(
    ("protection", "hosts", "kind", "owner", "training"),
    [
        ("none", 2, "binary", OWNER, {}),
        ("none", 3, "binary", HOSTS[1], {"momentum": 0.0, "l2": 0.05}),
        ("none", 2, "multiclass", HOSTS[0], {"local_epochs": 2, "batch_rows": 0}),
        ("none", 3, "linear", OWNER, {"optimiser": "sgd"}),
        ("lattice", 2, "binary", OWNER, {}),
        ("lattice", 3, "multiclass", HOSTS[0], {"momentum": 0.0, "l2": 0.05}),
        ("lattice", 2, "linear", HOSTS[1], {"l2": 0.1, "local_epochs": 2}),
        ("paillier", 3, "binary", HOSTS[0], {"rounds": 2}),
    ],
)
def test_a_training_ends_where_its_steps_end(
    protection: str, hosts: int, kind: str, owner: str, training: dict[str, Any]
) -> None:
    settings = make_settings(hosts, kind, owner=owner, training=training, protection=protection)
    tables = make_tables(SEED, hosts, kind=kind)
    played, expected = play(settings, tables), train_in_steps(settings, tables)
    model = played.results[owner]
    assert model is not None
    features = np.asarray(tables[HOSTS[0]].features)
    spread = float(np.abs(expected.scores(features)).max())
    assert np.abs(model.scores(features) - expected.scores(features)).max() < 1e-5 * spread
    assert np.allclose(model.spreads, expected.spreads, rtol=1e-12)
    assert (model.columns, model.classes, model.row_count) == (expected.columns, expected.classes, expected.row_count)
    others = {name: result for name, result in played.results.items() if name != owner}
    assert len(others) == len(settings.everyone) - 1
    assert set(others.values()) == {None}


def test_columns_as_they_are_train_too() -> None:
    settings = make_settings(training={"standardise": False, "learning_rate": 1e-6, "momentum": 0.0})
    tables = make_tables(SEED)
    model, expected = play(settings, tables).results[OWNER], train_in_steps(settings, tables)
    assert model is not None
    # Weights of 1e-4 stand at 2^-32 here.
    assert np.abs(model.weights - expected.weights).max() < 2.0**-29
    assert (model.means == 0).all()
    assert (model.spreads == 1).all()


def test_every_role_reports_rounds_and_the_owner_the_models_that_the_job_names() -> None:
    settings = make_settings(training={"rounds": 5, "report_every": 2})
    played = play(settings, make_tables(SEED))
    assert [model.round_number for model in played.models] == [2, 4, 5]
    assert played.rounds == {name: [1, 2, 3, 4, 5] for name in settings.everyone}
    assert all(states[-1].finished for states in played.states.values())
    assert not any(state.finished for states in played.states.values() for state in states[:-1])
    keeps_shares = {name for name, states in played.states.items() if states[-1].arrays}
    assert keeps_shares == {ARBITER, AGGREGATOR}
    assert (played.models[-1].weights == played.results[OWNER].weights).all()  # type: ignore[union-attr]


def test_a_constant_column_gets_no_weight_to_speak_of() -> None:
    tables = make_tables(SEED)
    for name, table in tables.items():
        features = np.array(table.features)
        features[:, 1] = 1234.567
        tables[name] = type(table)(features, table.labels, table.feature_names, name)
    model = play(make_settings(), tables).results[OWNER]
    assert model is not None
    assert model.spreads[1] == 1.0
    assert abs(model.weights[1, 0]) < 1e-9
