"""Joint prediction: scores are the plain trees' own; receivers, limits, and parts that do not belong together."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.protocol.vertical_trees.rehearsal import (
    GUEST,
    Rehearsal,
    ends,
    make_settings,
    make_tables,
    train_in_the_clear,
)

from hekat.channel import PartyKey
from hekat.data import Table
from hekat.errors import InputError, JobError, PolicyError, ProtocolError
from hekat.model.answers import answers_of
from hekat.model.trees import bin_rows
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_trees.model_part import TreesPart
from hekat.protocol.vertical_trees.party_run import TreesRun
from hekat.protocol.vertical_trees.prediction import predict_scores as module
from hekat.protocol.vertical_trees.prediction.predict_scores import predict_scores
from hekat.protocol.vertical_trees.prediction.settings import TreePredictionSettings


def predict(
    parts: dict[str, TreesPart],
    tables: dict[str, Table],
    receivers: tuple[str, ...] = (GUEST,),
    runs: dict[str, TreesRun] | None = None,
) -> dict[str, Any]:
    keys = {name: PartyKey.generate() for name in parts}
    sessions = make_sessions(keys, run_id="test", protocol="vertical_trees", job_digest=bytes(32))

    def play(name: str, channel: Any) -> Any:
        settings = TreePredictionSettings.of(parts[name], receivers)
        run = (runs or {}).get(name, TreesRun(Stopwatch()))
        return predict_scores(channel, parts[name], tables[name], settings, run)

    plays = {name: partial(one.play, role=partial(play, name)) for name, one in sessions.items()}
    return play_in_process(plays, timeout_s=30.0)


@pytest.fixture(scope="module")
def trained() -> tuple[dict[str, Table], dict[str, TreesPart]]:
    tables = make_tables(11, 200, (2, 3, 2), missing=0.05)
    return tables, Rehearsal(make_settings(2), tables).run()


@pytest.mark.quick_values
@pytest.mark.parametrize("task", ["binary", "regression", "multiclass"])
@pytest.mark.parametrize("bits_at_once", [1 << 26, 100])
def test_scores_are_the_plain_trees_own(task: str, bits_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BITS_AT_ONCE", bits_at_once)
    tables, fresh = (make_tables(seed, rows, (2, 3, 2), task=task, missing=0.1) for seed, rows in ((12, 200), (13, 77)))
    settings = make_settings(2, task)
    parts = Rehearsal(settings, tables).run()
    scores = predict(parts, fresh, (GUEST, "telco"))
    plain = train_in_the_clear(tables, settings)
    values = np.concatenate([np.asarray(fresh[name].features) for name in settings.parties], axis=1)
    bins = [column for name in settings.parties for column in parts[name].bins]
    expected = plain.ensemble.raw_scores(bin_rows(values, bins)).T
    np.testing.assert_array_equal(scores[GUEST], expected)
    np.testing.assert_array_equal(scores["telco"], expected)
    assert scores["shop"] is None
    answers, probabilities = answers_of(settings.classes, expected)
    assert answers.shape == (77,)
    if probabilities is not None:
        assert probabilities.shape == (77, len(settings.classes or ()))
        np.testing.assert_array_equal(probabilities.argmax(axis=1), answers)


def test_columns_are_found_by_their_names(trained: Any) -> None:
    tables, parts = trained
    turned = replace(
        tables["shop"], features=tables["shop"].features[:, ::-1], feature_names=tables["shop"].feature_names[::-1]
    )
    np.testing.assert_array_equal(predict(parts, {**tables, "shop": turned})[GUEST], predict(parts, tables)[GUEST])


def test_the_guest_is_always_a_receiver() -> None:
    with pytest.raises(JobError, match="receivers"):
        TreePredictionSettings("bank", ("shop",), ("shop",))


@pytest.mark.parametrize("receivers", [(), ("bank", "bank"), ("bank", "nobody"), "bank"])
def test_receivers_are_parties_each_once(receivers: Any) -> None:
    with pytest.raises(JobError, match="receivers"):
        TreePredictionSettings("bank", ("shop",), receivers)


def test_parts_of_two_models_do_not_predict(trained: Any) -> None:
    tables, parts = trained
    other = replace(parts["shop"], model_id="0" * 32)
    with ends(ProtocolError, "another part of the model"):
        predict({**parts, "shop": other}, tables)


def test_a_host_with_other_splits_is_refused(trained: Any) -> None:
    tables, parts = trained
    arrays = {**parts["shop"].arrays, "split_columns": parts["shop"].arrays["split_columns"][:-1]}
    with ends(ProtocolError, "another number of splits"):
        predict({**parts, "shop": replace(parts["shop"], arrays=arrays)}, tables)


def test_other_rows_are_refused(trained: Any) -> None:
    tables, parts = trained
    with ends(ProtocolError, "another number of rows"):
        predict(parts, {**tables, "shop": tables["shop"].take(np.arange(10))})


def test_the_limit_of_a_party_refuses_rows_before_anything_leaves(trained: Any) -> None:
    tables, parts = trained

    def refuse(row_count: int) -> None:
        raise PolicyError("too many", expected="0 rows", got=str(row_count))

    with ends(PolicyError, "too many"):
        predict(parts, tables, runs={"shop": TreesRun(Stopwatch(), count_predictions=refuse)})


@pytest.mark.parametrize("cell", [np.inf, -np.inf])
def test_infinity_is_refused(trained: Any, cell: float) -> None:
    tables, parts = trained
    features = np.array(tables["shop"].features)
    features[3, 1] = cell
    with ends(InputError, "infinit"):
        predict(parts, {**tables, "shop": replace(tables["shop"], features=features, keeps_gaps=True)})


def test_a_host_that_sends_too_few_sides_is_named(trained: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tables, parts = trained
    honest = module.side_bits
    monkeypatch.setattr(module, "side_bits", lambda *given: honest(*given)[:, :-1])
    with ends(ProtocolError, "sent sides of other rows or splits"):
        predict(parts, tables)
