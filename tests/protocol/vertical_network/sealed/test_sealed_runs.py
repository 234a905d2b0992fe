"""Trainings of form sealed follow the same network in floats, go on where they stopped, and end where they must."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.protocol.vertical_network.rehearsal import GUEST, Rehearsal, ends
from tests.protocol.vertical_network.sealed.sealed_run import (
    HOST,
    crossed_tables,
    joined_columns,
    make_sealed,
    scores_of,
    train_in_floats,
    weights_of,
)

from hekat.data import Table
from hekat.errors import BoundError, DivergedError, InputError, JobError
from hekat.protocol.vertical_network.model_part import SEALED_SHARE
from hekat.protocol.vertical_network.network_settings import NetworkShape, NetworkTraining
from hekat.protocol.vertical_network.party_run import NetworkRecord
from hekat.protocol.vertical_network.row_plan import RowPlan
from hekat.protocol.vertical_network.sealed.opened_loss import told_loss


def auc_of(scores: Any, labels: Any) -> float:
    ranks = np.argsort(np.argsort(scores)) + 1
    positive = int(labels.sum())
    return float((ranks[labels == 1].sum() - positive * (positive + 1) / 2) / (positive * (len(labels) - positive)))


@pytest.mark.parametrize("protection", ["none", "lattice"])
def test_losses_and_weights_are_those_in_floats(protection: str) -> None:
    """Ragged batches, momentum, a penalty: off by what truncations and roundings of 2^-12 leave."""
    training = {"epochs": 2, "batch_rows": 40, "l2": 0.05}
    run = Rehearsal(make_sealed(protection=protection, training=training), crossed_tables(11, 75))
    parts = run.run()
    weights, losses = train_in_floats(run, parts)
    assert [one.loss for one in run.records[GUEST]] == pytest.approx(losses, abs=2e-3)
    assert abs(weights_of(parts) - weights).max() < 2e-4
    assert [one.loss for one in run.records[HOST]] == [None, None]
    assert {part.form for part in parts.values()} == {"sealed"}
    assert parts[GUEST].widths == {GUEST: 3, HOST: 3}
    assert parts[HOST].bottom_kind == "source"


@pytest.mark.parametrize(
    ("rows", "epochs", "units"), [(300, 25, 4), pytest.param(3000, 12, 12, marks=pytest.mark.long)]
)
def test_products_across_parties_are_learned(rows: int, epochs: int, units: int) -> None:
    """Neither party's own columns or squares tell these labels: seed 12."""
    run = Rehearsal(make_sealed(network={"units": units}, training={"epochs": epochs}), crossed_tables(12, rows))
    parts = run.run()
    weights, losses = train_in_floats(run, parts)
    X, labels = joined_columns(run.tables, parts), np.asarray(run.tables[GUEST].labels)
    ours, theirs = auc_of(scores_of(X, weights_of(parts)), labels), auc_of(scores_of(X, weights), labels)
    print(f"seed 12: AUC {ours:.4f} in shares, {theirs:.4f} in floats, loss {losses[0]:.3f} to {losses[-1]:.3f}")
    assert abs(ours - theirs) < 0.005
    assert ours > 0.85


def test_a_resumed_run_ends_bit_for_bit_where_the_whole_one_does() -> None:
    settings = make_sealed(training={"epochs": 4, "validation_fraction": 0.1, "l2": 0.01})
    tables = crossed_tables(13, 80)
    whole = Rehearsal(settings, tables)
    parts = whole.run()
    runs = {name: {"resume_from": states[1]} for name, states in whole.saved.items()}
    resumed = Rehearsal(settings, tables, seed=77, runs=runs)
    found = resumed.run()
    for name, part in parts.items():
        np.testing.assert_array_equal(found[name].arrays[SEALED_SHARE], part.arrays[SEALED_SHARE])
    assert resumed.saved[GUEST][-1].losses == whole.saved[GUEST][-1].losses
    assert resumed.saved[GUEST][-1].validation_losses == whole.saved[GUEST][-1].validation_losses
    assert [record.epoch for record in resumed.records[HOST]] == [3, 4]
    ended = {name: {"resume_from": states[-1]} for name, states in whole.saved.items()}
    again = Rehearsal(settings, tables, runs=ended)
    assert again.run()[GUEST].epochs == 4
    assert again.records == {GUEST: [], HOST: []}


def test_a_warm_start_goes_on_with_the_weights_and_with_no_other_form() -> None:
    tables = crossed_tables(14, 80)
    first = Rehearsal(make_sealed(training={"epochs": 20}), tables)
    parts = first.run()
    then = Rehearsal(make_sealed(), tables, runs={name: {"start_from": part} for name, part in parts.items()})
    then.run()
    assert then.records[GUEST][0].loss < first.records[GUEST][0].loss - 0.05
    other = {name: {"start_from": replace(part, form="shared")} for name, part in parts.items()}
    with ends(InputError, "a warm start from other form"):
        Rehearsal(make_sealed(), tables, runs=other).run()


def test_held_out_rows_train_nothing_and_end_the_training() -> None:
    tables = crossed_tables(15, 120)
    settings = make_sealed(training={"epochs": 3, "validation_fraction": 0.25, "patience": 1, "min_improvement": 1.0})
    run = Rehearsal(settings, tables)
    parts = run.run()
    assert parts[HOST].epochs == len(run.records[HOST]) == 2
    assert run.saved[HOST][-1].finished
    plan = RowPlan.of(120, settings.training)
    held = joined_columns(tables, parts)[plan.held_out]
    labels = 2 * np.asarray(tables[GUEST].labels)[plan.held_out] - 1
    d = scores_of(held, weights_of(parts)) / 4 - labels / 2
    expected = 2 * float((d**2).mean()) + np.log(2) - 0.5
    unit = told_loss(len(plan.held_out), 3).unit
    assert run.records[GUEST][-1].validation_loss == pytest.approx(expected, abs=2e-3 + 2 * unit)


def test_a_loss_out_of_range_ends_the_run_by_name() -> None:
    """Nobody sees units, so what diverged shows in the loss alone."""
    settings = make_sealed(training={"epochs": 20, "shared_rate": 8.0, "momentum": 0.95})
    with ends(DivergedError, "training diverges: the loss of an epoch is no loss"):
        Rehearsal(settings, crossed_tables(16, 200)).run()


def test_a_loss_is_told_no_finer_than_a_bit_for_each_row() -> None:
    """Ten rows and five epochs: 2^-1 of a mean, in units of the sum; the guest's share has no finer digits."""
    settings = make_sealed(training={"epochs": 5, "batch_rows": 10})
    run = Rehearsal(settings, crossed_tables(17, 10))
    run.run()
    units = [(one.loss - np.log(2) + 0.5) / 2 / (0.5 * 16 / 10) for one in run.records[GUEST]]
    assert all(abs(one - round(one)) < 1e-9 for one in units)
    assert any("in units of 1.6e+00" in note for note in run.notes[GUEST])


def test_a_run_that_would_go_astray_too_often_is_refused_before_it_begins() -> None:
    def stop(record: NetworkRecord) -> None:
        raise AssertionError(f"epoch {record.epoch} was trained")

    settings = make_sealed(training={"epochs": 10**6, "momentum": 0.99}, network={"units": 64})
    run = Rehearsal(settings, crossed_tables(18, 80), runs={name: {"on_epoch": stop} for name in (GUEST, HOST)})
    with ends(BoundError, "a number in shares would go astray too often"):
        run.run()
    assert not any("batch" in step for sent in run.sent.values() for _, step, _ in sent)


def test_a_guest_without_columns_trains_on_its_ones_and_the_hosts_squares() -> None:
    rng = np.random.default_rng(19)
    host = rng.normal(size=(90, 2))
    labels = (host[:, 0] ** 2 > 1).astype(np.int64)
    tables = {GUEST: Table(np.zeros((90, 0)), labels, (), GUEST), HOST: Table(host, None, ("a", "b"), HOST)}
    run = Rehearsal(make_sealed(training={"epochs": 10}), tables)
    parts = run.run()
    assert parts[GUEST].widths == {GUEST: 1, HOST: 2}
    assert parts[GUEST].bottom_kind == "none"
    assert run.records[GUEST][-1].loss < run.records[GUEST][0].loss


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"hosts": (HOST, "telco")}, "hosts cannot be used"),
        ({"task": "multiclass", "classes": ("a", "b", "c")}, "model.task cannot be used"),
        ({"task": "regression", "classes": None}, "model.task cannot be used"),
        ({"host_bottom": "frozen"}, "protection.host_bottom cannot be used"),
        ({"label_privacy": 1.0}, "label_privacy.epsilon cannot be used"),
        ({"network": NetworkShape(top_hidden=(3,))}, "network.top_hidden cannot be used"),
        ({"network": NetworkShape(activation="tanh")}, "network.activation cannot be used"),
        ({"training": NetworkTraining(batch_rows=8193)}, "training.batch_rows cannot be used"),
        ({"training": NetworkTraining(learning_rate=0.5)}, "training.learning_rate cannot be used"),
    ],
)
def test_what_the_form_does_not_have_is_refused_with_a_cure(changes: dict[str, Any], match: str) -> None:
    with pytest.raises(JobError, match=match) as caught:
        replace(make_sealed(), **changes)
    assert caught.value.cure


def test_both_ledgers_say_what_each_party_learns_of_a_training() -> None:
    training = {"epochs": 1, "validation_fraction": 0.25}
    run = Rehearsal(make_sealed(training=training), crossed_tables(15, 80))
    run.run()
    for notes in run.notes.values():
        for what, rows in (("each epoch", 60), ("held-out rows after each epoch", 20)):
            told = told_loss(rows, 1)
            assert (
                f"form sealed: {GUEST} learns the mean loss of {what}, in units of {2 * told.unit:.1e}; of one that it "
                f"makes another number it learns {told.opened_bits} bits"
            ) in notes
        assert f"form sealed: {HOST} learns when the training ends; all else stays in shares" in notes
