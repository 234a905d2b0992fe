"""Trainings that go on: resumed from states, begun from parts of an earlier model, ended early."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.protocol.vertical_network.rehearsal import (
    GUEST,
    HOSTS,
    Rehearsal,
    ends,
    make_settings,
    make_tables,
    shared_weights,
    with_ids,
)

from hekat.errors import InputError, ProtocolError, StateError
from hekat.protocol.vertical.label_privacy import LabelFlips, OwnLabels
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings

HOST = HOSTS[0]


def runs_from(states: Any, key: str = "resume_from") -> dict[str, dict[str, Any]]:
    return {name: {key: state} for name, state in states.items()}


def state_after(rehearsal: Rehearsal, epoch: int) -> dict[str, Any]:
    return {name: states[epoch - 1] for name, states in rehearsal.saved.items()}


@pytest.mark.quick_cases("frozen-momentum", "trained-sgd")
@pytest.mark.parametrize("optimiser", ["momentum", "sgd"])
@pytest.mark.parametrize("bottom", ["frozen", "source", "trained"])
def test_a_resumed_run_ends_bit_for_bit_where_the_whole_one_does(bottom: str, optimiser: str) -> None:
    training = {"epochs": 4, "shared_optimiser": optimiser, "validation_fraction": 0.1, "l2": 0.01}
    settings = make_settings(2, host_bottom=bottom, training=training)
    tables = make_tables(1, 90, (2, 3, 1))
    whole = Rehearsal(settings, tables)
    parts = whole.run()
    resumed = Rehearsal(settings, tables, seed=77, runs=runs_from(state_after(whole, 2)))
    found = resumed.run()
    for name, part in parts.items():
        assert found[name].model_id == found[GUEST].model_id != part.model_id
        assert found[name].arrays.keys() == part.arrays.keys()
        for key, values in part.arrays.items():
            np.testing.assert_array_equal(found[name].arrays[key], values, err_msg=f"{name} {key}")
    assert resumed.saved[GUEST][-1].losses == whole.saved[GUEST][-1].losses
    assert [record.epoch for record in resumed.records[HOST]] == [3, 4]


def test_a_resumed_run_under_lattices_goes_on_with_the_same_network() -> None:
    settings = make_settings(1, protection="lattice", training={"epochs": 2})
    tables = make_tables(1, 60, (2, 3))
    whole = Rehearsal(settings, tables)
    parts = whole.run()
    resumed = Rehearsal(settings, tables, runs=runs_from(state_after(whole, 1)))
    found = resumed.run()
    np.testing.assert_allclose(shared_weights(found), shared_weights(parts), atol=1e-6)
    ours = {message.values for _, _, message in resumed.sent[HOST] if hasattr(message, "values")}
    theirs = {message.values for _, _, message in whole.sent[HOST] if hasattr(message, "values")}
    assert ours
    assert not ours & theirs


def test_a_training_that_had_ended_gives_its_parts_again() -> None:
    settings, tables = make_settings(1), make_tables(1, 60, (2, 3))
    whole = Rehearsal(settings, tables)
    parts = whole.run()
    again = Rehearsal(settings, tables, runs=runs_from(state_after(whole, 2)))
    found = again.run()
    np.testing.assert_array_equal(shared_weights(found), shared_weights(parts))
    assert GUEST not in again.saved or not again.saved[GUEST]


def test_a_warm_start_begins_where_the_earlier_model_ended() -> None:
    settings, tables = make_settings(1, training={"epochs": 3}), make_tables(1, 120, (2, 3))
    first = Rehearsal(settings, tables)
    parts = first.run()
    second = Rehearsal(settings, tables, seed=9, runs=runs_from(parts, "start_from"))
    found = second.run()
    assert found[GUEST].model_id != parts[GUEST].model_id
    assert second.records[GUEST][0].loss == pytest.approx(first.records[GUEST][-1].loss, rel=0.1)
    wider = make_settings(1, network={"units": 6})
    with ends(InputError, "a warm start from other sizes of layers"):
        Rehearsal(wider, tables, runs=runs_from(parts, "start_from")).run()


def test_label_privacy_does_not_go_on_with_what_labels_as_they_are_have_moved() -> None:
    """Its scores would tell hosts the labels of the earlier training under a bound that these never had."""
    tables = with_ids(make_tables(1, 60, (2, 3)))
    open_parts = Rehearsal(make_settings(1, training={"epochs": 1}), tables).run()
    flips = LabelFlips.in_memory(GUEST)
    private = make_settings(1, training={"epochs": 1}, label_privacy=2.0, labels_accepted=None)

    def goes_on(settings: VerticalNetworkSettings, parts: Any) -> Any:
        runs = runs_from(parts, "start_from")
        runs[GUEST]["own_labels"] = OwnLabels(flips, "label")
        return Rehearsal(settings, tables, runs=runs).run()

    for strict in (GUEST, HOST):
        mixed = {name: replace(part, label_privacy=2.0) for name, part in open_parts.items()} | {
            strict: open_parts[strict]
        }
        with ends(InputError, f"a warm start from other label privacy at {strict}"):
            goes_on(private, mixed)
    parts = Rehearsal(private, tables, runs={GUEST: {"own_labels": OwnLabels(flips, "label")}}).run()
    assert {part.label_privacy for part in parts.values()} == {2.0}
    assert goes_on(private, parts)[GUEST].label_privacy == 2.0
    found = goes_on(make_settings(1, training={"epochs": 1}), parts)
    assert {part.label_privacy for part in found.values()} == {None}


def test_states_of_two_runs_or_epochs_never_meet() -> None:
    settings, tables = make_settings(1, training={"epochs": 3}), make_tables(1, 60, (2, 3))
    one, two = Rehearsal(settings, tables), Rehearsal(settings, tables)
    one.run()
    two.run()
    mixed = {GUEST: one.saved[GUEST][1], HOST: two.saved[HOST][1]}
    with ends(ProtocolError, "begins with other model"):
        Rehearsal(settings, tables, runs=runs_from(mixed)).run()
    mixed = {GUEST: one.saved[GUEST][1], HOST: one.saved[HOST][0]}
    with ends(ProtocolError, "begins with other epochs done"):
        Rehearsal(settings, tables, runs=runs_from(mixed)).run()
    # Both went on from the same state, and so have the same model behind them.
    going_on = [Rehearsal(settings, tables, runs=runs_from(state_after(one, 1))) for _ in range(2)]
    for rehearsal in going_on:
        rehearsal.run()
    mixed = {GUEST: going_on[0].saved[GUEST][0], HOST: going_on[1].saved[HOST][0]}
    with ends(ProtocolError, "begins with other model"):
        Rehearsal(settings, tables, runs=runs_from(mixed)).run()
    with ends(ProtocolError, "begins with other epochs done"):
        Rehearsal(settings, tables, runs=runs_from({GUEST: one.saved[GUEST][1]})).run()


def test_a_state_without_its_shares_is_refused() -> None:
    settings, tables = make_settings(1, training={"epochs": 2}), make_tables(1, 60, (2, 3))
    whole = Rehearsal(settings, tables)
    whole.run()
    states = state_after(whole, 1)
    arrays = {name: values for name, values in states[HOST].arrays.items() if not name.startswith("share/")}
    states[HOST] = replace(states[HOST], arrays=arrays)
    with ends(StateError, "no such shares"):
        Rehearsal(settings, tables, runs=runs_from(states)).run()


def test_training_ends_once_held_out_rows_get_no_better() -> None:
    training = {"epochs": 40, "patience": 2, "min_improvement": 0.02, "validation_fraction": 0.3}
    rehearsal = Rehearsal(make_settings(2, training=training), make_tables(2, 120, (2, 2, 2)))
    parts = rehearsal.run()
    held = [record.validation_loss for record in rehearsal.records[GUEST]]
    assert 3 <= len(held) < 40
    assert min(held[-2:]) > min(held[:-2]) - 0.02
    assert {part.epochs for part in parts.values()} == {len(held)}
    assert rehearsal.saved[HOST][-1].finished
    assert all(record.loss is None and record.validation_loss is None for record in rehearsal.records[HOST])
