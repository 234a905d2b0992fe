"""A training that stops and goes on: by a state after any tree, or by an earlier model's parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.protocol.vertical_trees.rehearsal import (
    GUEST,
    Rehearsal,
    assert_same_trees,
    ends,
    make_settings,
    make_tables,
    train_in_the_clear,
)

from hekat.errors import InputError, PartyStoppedError, ProtocolError


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_a_resumed_run_ends_with_the_same_model(task: str) -> None:
    tables = make_tables(7, 200, (2, 3, 2), task=task)
    settings = make_settings(2, task, training={"max_iter": 4, "subsample": 0.8})
    whole = Rehearsal(settings, tables)
    parts = whole.run()
    states = {name: saved[1] for name, saved in whole.saved.items()}
    resumed = Rehearsal(settings, tables, resume_from=states).run()
    for name, part in resumed.items():
        assert part.model_id == parts[name].model_id
        for key, values in part.arrays.items():
            np.testing.assert_array_equal(values, parts[name].arrays[key], err_msg=f"{name} {key}")


def test_states_of_different_trees_are_refused() -> None:
    tables = make_tables(8, 120, (2, 2))
    settings = make_settings(1)
    whole = Rehearsal(settings, tables)
    whole.run()
    states = {"bank": whole.saved["bank"][0], "shop": whole.saved["shop"][1]}
    with ends(ProtocolError, "trees done"):
        Rehearsal(settings, tables, resume_from=states).run()


def test_states_of_different_models_are_refused() -> None:
    tables = make_tables(8, 120, (2, 2))
    settings = make_settings(1)
    first, second = Rehearsal(settings, tables), Rehearsal(settings, tables)
    first.run()
    second.run()
    states = {"bank": first.saved["bank"][0], "shop": second.saved["shop"][0]}
    with ends(ProtocolError, "other model"):
        Rehearsal(settings, tables, resume_from=states).run()


def test_a_run_that_had_ended_needs_nothing_more() -> None:
    tables = make_tables(8, 120, (2, 2))
    settings = make_settings(1)
    whole = Rehearsal(settings, tables)
    parts = whole.run()
    again = Rehearsal(settings, tables, resume_from={name: saved[-1] for name, saved in whole.saved.items()})
    assert again.run()[GUEST].model_id == parts[GUEST].model_id
    assert not any("gradients" in step for _, step, _ in again.sent[GUEST])


@pytest.mark.parametrize("task", ["regression", "multiclass"])
def test_a_warm_start_goes_on_where_the_model_ended(task: str) -> None:
    tables = make_tables(9, 200, (2, 3), task=task, missing=0.05)
    short, long = (make_settings(1, task, training={"max_iter": n}) for n in (2, 4))
    parts = Rehearsal(short, tables).run()
    going_on = Rehearsal(long, tables, start_from=parts)
    result = going_on.run()
    assert_same_trees(result, train_in_the_clear(tables, long))
    assert result[GUEST].model_id != parts[GUEST].model_id
    assert result["shop"].iterations == 4


def test_a_warm_start_from_other_columns_is_refused() -> None:
    tables = make_tables(9, 200, (2, 3))
    parts = Rehearsal(make_settings(1, training={"max_iter": 1}), tables).run()
    other = {**tables, "shop": replace(tables["shop"], feature_names=("a", "b", "c"))}
    with ends(InputError, "other columns"):
        Rehearsal(make_settings(1), other, start_from=parts).run()


def test_the_loss_of_a_host_ends_the_run_by_its_name_and_keeps_what_was_saved() -> None:
    tables = make_tables(10, 120, (2, 2, 2))
    settings = make_settings(2)

    def fall(party: str, state: object) -> None:
        if party == "telco" and state.trees_done == 2:  # type: ignore[attr-defined]
            raise OSError("no space left")

    rehearsal = Rehearsal(settings, tables, before_save=fall)
    with ends(OSError, "telco"):
        rehearsal.run()
    assert [state.trees_done for state in rehearsal.saved["telco"]] == [1]
    states = {name: saved[0] for name, saved in rehearsal.saved.items()}
    assert_same_trees(Rehearsal(settings, tables, resume_from=states).run(), train_in_the_clear(tables, settings))


def test_a_party_that_stops_is_named_to_the_others() -> None:
    tables = make_tables(10, 120, (2, 2))
    settings = make_settings(1)
    heard: list[PartyStoppedError] = []

    def listen(channel, table, settings, run):
        from hekat.protocol.vertical_trees.roles import run_role

        try:
            return run_role(channel, table, settings, run)
        except PartyStoppedError as error:
            heard.append(error)
            raise

    def fall(party: str, state: object) -> None:
        if party == "shop":
            raise ValueError("gone")

    with ends(ValueError, "shop"):
        Rehearsal(settings, tables, before_save=fall, stand_ins={GUEST: listen}).run()
    assert "shop" in str(heard[0])
