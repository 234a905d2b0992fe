"""The split network is as good as the same network joined in floats, and label privacy costs what flips cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.protocol.vertical_network.rehearsal import (
    GUEST,
    HOSTS,
    Rehearsal,
    ends,
    flips_of,
    make_settings,
    make_tables,
    with_ids,
)

from hekat.errors import PolicyError, StateError
from hekat.model.split import BottomTask, TopTask, dense_bottom
from hekat.protocol.shares.share_array import to_floats
from hekat.protocol.vertical.label_privacy import OwnLabels
from hekat.protocol.vertical_network.guest_side.own_network import OwnNetwork
from hekat.protocol.vertical_network.guest_side.top import dense_top
from hekat.protocol.vertical_network.own_features import draw_seed, standardised
from hekat.protocol.vertical_network.prediction.kept_bottom import restore_bottom
from hekat.protocol.vertical_network.row_plan import RowPlan
from hekat.protocol.vertical_network.shared_addend import first_addend

HOST = HOSTS[0]


def train_joined(run: Rehearsal, parts: Any) -> tuple[list[float], Any]:
    """The losses of epochs and the outputs of all rows of the joined network in float64, from the same start."""
    settings, tables = run.settings, run.tables
    shape, training = settings.network, settings.training
    columns = {
        name: standardised(tables[name], part.arrays["means"], part.arrays["spreads"], part.limit_spreads)
        for name, part in parts.items()
    }
    runs = {name: run.make_run(name) for name in parts}
    inputs = sum(parts[GUEST].widths.values())
    bottom = dense_bottom(
        BottomTask(columns[GUEST], shape.guest_width, True, draw_seed(runs[GUEST], 0), training.learning_rate)
    )
    network = OwnNetwork(
        bottom,
        dense_top(shape, TopTask(shape.units, 1, training.learning_rate, draw_seed(runs[GUEST], 2))),
        2,
        units=shape.units,
        learning_rate=training.learning_rate,
        l2=training.l2,
        seed=draw_seed(runs[GUEST], 1),
        input_count=inputs,
    )
    fixed = restore_bottom(parts[HOST], None)
    assert fixed is not None
    features = fixed.evaluate(columns[HOST])
    weights = sum(
        to_floats(
            first_addend(np.random.default_rng(draw_seed(runs[name], 3)), shape.host_width, shape.units, 1.0 / inputs),
            64,
        )
        for name in parts
    )
    velocity = np.zeros_like(weights)
    labels = np.asarray(tables[GUEST].labels, np.float64)[:, np.newaxis]
    losses = []
    for _ in range(training.epochs):
        total = 0.0
        for rows in RowPlan.of(len(labels), training).batches:
            Z = network.forward(columns[GUEST][rows]) + features[rows] @ weights
            loss, slopes = network.finish(Z, labels[rows])
            network.backward()
            velocity = training.momentum_units / 256 * velocity + features[rows].T @ slopes / len(rows)
            weights = weights - training.shared_rate * velocity
            total += loss * len(rows)
        losses.append(total / len(labels))
    return losses, network.evaluate(columns[GUEST], features @ weights)


@pytest.mark.parametrize("seed", [1, 2])
def test_auc_is_within_five_thousandths_of_the_joined_network_in_floats(seed: int) -> None:
    tables = make_tables(seed, 400, (3, 4))
    run = Rehearsal(make_settings(1, training={"epochs": 12, "learning_rate": 0.03}), tables, seed=seed)
    parts = run.run()
    losses, expected = train_joined(run, parts)
    assert [record.loss for record in run.records[GUEST]] == pytest.approx(losses, abs=1e-3)
    assert losses[-1] < 0.7 * losses[0]
    scores = run.predict(parts, tables)[GUEST]
    ours, theirs = (_auc(one, np.asarray(tables[GUEST].labels)) for one in (scores, expected))
    assert abs(ours - theirs) < 0.005
    assert ours > 0.85


def _auc(outputs: Any, labels: Any) -> float:
    ranks = np.argsort(np.argsort(outputs[:, 0])) + 1
    positive = int(labels.sum())
    return float((ranks[labels == 1].sum() - positive * (positive + 1) / 2) / (positive * (len(labels) - positive)))


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_flips_answer_once_for_all_runs_and_nothing_else_sees_labels(task: str) -> None:
    settings = make_settings(
        1, task, host_bottom="trained", label_privacy=1.0, labels_accepted=None, training={"validation_fraction": 0.2}
    )
    tables = with_ids(make_tables(1, 80, (2, 3), task=task))
    flips, other_flips = flips_of(1), flips_of(2)
    runs = [Rehearsal(settings, tables, runs={GUEST: {"own_labels": OwnLabels(flips, "label")}}) for _ in range(2)]
    for run in runs:
        run.run()
        assert "randomised response at epsilon 1" in "\n".join(run.notes[GUEST])
        assert "label privacy bounds that" in "\n".join(run.notes[HOST])
    first, again = ([record.loss for record in run.records[GUEST]] for run in runs)
    assert again == pytest.approx(first, abs=1e-5)
    others = Rehearsal(settings, tables, runs={GUEST: {"own_labels": OwnLabels(other_flips, "label")}})
    others.run()
    # The keys of both are fixed: losses of two that are drawn come as near as one likes now and then.
    assert abs(others.records[GUEST][0].loss - first[0]) > 1e-2
    resumed = {name: {"resume_from": states[0]} for name, states in runs[0].saved.items()}
    resumed[GUEST]["own_labels"] = OwnLabels(other_flips, "label")
    with ends(StateError, "other flips of labels"):
        Rehearsal(settings, tables, runs=resumed).run()
    stricter = make_settings(1, task, host_bottom="trained", label_privacy=2.0, labels_accepted=None)
    with ends(PolicyError, "other epsilon before"):
        Rehearsal(stricter, tables, runs={GUEST: {"own_labels": OwnLabels(flips, "label")}}).run()
