"""Joint prediction: the scores of the network put together, by its receivers alone, within limits."""

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
)

from hekat.errors import InputError, JobError, PolicyError, ProtocolError
from hekat.model.split import module_bottom, module_top
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical.prediction_limit import check_prediction_limit
from hekat.protocol.vertical_network.messages import OutputsMessage
from hekat.protocol.vertical_network.own_features import standardised
from hekat.protocol.vertical_network.party_run import NetworkRun
from hekat.protocol.vertical_network.prediction.kept_bottom import restore_bottom
from hekat.protocol.vertical_network.prediction.messages import NetworkScoresMessage
from hekat.protocol.vertical_network.prediction.predict_scores import restore_network
from hekat.protocol.vertical_network.prediction.settings import NetworkPredictionSettings

HOST = HOSTS[0]


def in_one_place(parts: Any, tables: Any) -> Any:
    """The scores by all parts together, in floats."""
    total = 0.0
    for host in parts[GUEST].hosts:
        part = parts[host]
        columns = standardised(tables[host], part.arrays["means"], part.arrays["spreads"], part.limit_spreads)
        bottom = restore_bottom(part, None)
        assert bottom is not None
        total = total + bottom.evaluate(columns) @ shared_weights(parts, host)
    part = parts[GUEST]
    columns = standardised(tables[GUEST], part.arrays["means"], part.arrays["spreads"], part.limit_spreads)
    outputs = restore_network(part, NetworkRun(Stopwatch())).evaluate(columns, total)
    return outputs * part.arrays["target_spread"] + part.arrays["target_mean"]


@pytest.mark.quick_cases("lattice-frozen-binary", "none-source-regression", "lattice-trained-multiclass")
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("bottom", ["frozen", "source", "trained"])
@pytest.mark.parametrize("protection", ["none", "lattice"])
def test_scores_are_those_of_the_network_in_one_place(protection: str, bottom: str, task: str) -> None:
    settings = make_settings(2, task, protection=protection, host_bottom=bottom)
    run = Rehearsal(settings, make_tables(1, 60, (2, 3, 1), task=task))
    parts = run.run()
    rows = make_tables(8, 33, (2, 3, 1), task=task, labelled=False)
    scores = run.predict(parts, rows, (GUEST, HOST))
    expected = in_one_place(parts, rows)
    unit = float(parts[GUEST].arrays["target_spread"])
    np.testing.assert_allclose(scores[GUEST], expected, atol=1e-3 * unit)
    np.testing.assert_array_equal(scores[HOST], scores[GUEST])
    assert scores[HOSTS[1]] is None
    if task == "regression":
        assert abs(np.mean(scores[GUEST]) - 100.0) < 10.0


def test_a_guest_with_labels_alone_trains_and_predicts() -> None:
    run = Rehearsal(make_settings(1, training={"epochs": 10}), make_tables(1, 200, (0, 4)))
    parts = run.run()
    assert run.records[GUEST][-1].loss < run.records[GUEST][0].loss
    assert parts[GUEST].bottom_kind == "none"
    assert run.predict(parts, make_tables(2, 3, (0, 4), labelled=False))[GUEST].shape == (3, 1)


def test_each_host_counts_rows_before_anything_leaves() -> None:
    run = Rehearsal(make_settings(1), make_tables(1, 40, (2, 3)))
    parts = run.run()
    run.runs = {HOST: {"count_predictions": lambda rows: check_prediction_limit(HOST, rows, 30, 40, "a limit")}}
    run.sent.clear()
    with ends(PolicyError, "does not allow so many"):
        run.predict(parts, make_tables(2, 11, (2, 3), labelled=False))
    assert not [one for _, _, one in run.sent[HOST] if isinstance(one, OutputsMessage)]
    assert run.predict(parts, make_tables(2, 10, (2, 3), labelled=False))[GUEST].shape == (10, 1)


def test_parts_of_two_models_do_not_predict_together() -> None:
    tables = make_tables(1, 40, (2, 3))
    run, other = Rehearsal(make_settings(1), tables), Rehearsal(make_settings(1), tables)
    parts, others = run.run(), other.run()
    rows = make_tables(2, 5, (2, 3), labelled=False)
    with ends(ProtocolError, "another part of the model"):
        run.predict({GUEST: parts[GUEST], HOST: others[HOST]}, rows)
    with ends(ProtocolError, "another number of rows"):
        run.predict(parts, {**rows, HOST: rows[HOST].take(np.arange(4))})
    with ends(InputError, "other columns"):
        renamed = replace(rows[HOST], feature_names=("a", "b", "c"))
        run.predict(parts, {**rows, HOST: renamed})
    with ends(InputError, "a part of another party"):
        run.predict({GUEST: parts[GUEST], HOST: parts[GUEST]}, rows)


@pytest.mark.parametrize("strict", [GUEST, HOST])
def test_each_party_refuses_by_its_own_part_that_a_host_receives_scores_of_labels_as_they_are(strict: str) -> None:
    run = Rehearsal(make_settings(1, training={"epochs": 1}), make_tables(1, 40, (2, 3)))
    parts = run.run()
    rows = make_tables(2, 5, (2, 3), labelled=False)
    assert all(part.labels_accepted and part.label_privacy is None for part in parts.values())
    settings = NetworkPredictionSettings.of(parts[GUEST], (GUEST, HOST))
    changed = parts | {strict: replace(parts[strict], labels_accepted=False)}
    run.sent.clear()
    with ends(JobError, "scores tell a host"):
        run.predict(changed, rows, made=settings)
    assert not [one for _, _, one in run.sent[strict] if isinstance(one, OutputsMessage | NetworkScoresMessage)]
    with pytest.raises(JobError, match="scores tell a host"):
        NetworkPredictionSettings.of(changed[strict], (GUEST, HOST))
    private = parts | {strict: replace(parts[strict], labels_accepted=False, label_privacy=2.0)}
    scores = run.predict(private, rows, (GUEST, HOST))
    np.testing.assert_array_equal(scores[HOST], scores[GUEST])


def test_the_guest_is_always_among_the_receivers() -> None:
    parts = Rehearsal(make_settings(1, training={"epochs": 1}), make_tables(1, 40, (2, 3))).run()
    assert NetworkPredictionSettings.of(parts[GUEST]).receivers == (GUEST,)
    with pytest.raises(JobError, match="receivers"):
        NetworkPredictionSettings.of(parts[GUEST], (HOST,))


def test_modules_train_and_predict_where_their_functions_are_given_again() -> None:
    torch = pytest.importorskip("torch", reason="needs hekat[torch]")

    def top() -> Any:
        return torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Linear(4, 1))

    def bottom() -> Any:
        return torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh())

    run = Rehearsal(make_settings(1, host_bottom="trained", training={"epochs": 6}), make_tables(1, 80, (2, 3)))
    run.runs = {GUEST: {"make_top": module_top(top)}, HOST: {"make_bottom": module_bottom(bottom)}}
    parts = run.run()
    assert run.records[GUEST][-1].loss < run.records[GUEST][0].loss
    assert (parts[HOST].bottom_kind, parts[HOST].top_kind) == ("module", "none")
    assert (parts[GUEST].bottom_kind, parts[GUEST].top_kind) == ("dense", "module")
    rows = make_tables(2, 7, (2, 3), labelled=False)
    assert np.isfinite(run.predict(parts, rows)[GUEST]).all()
    run.runs = {HOST: {"make_bottom": module_bottom(bottom)}}
    with ends(InputError, "needs its own top; .*got none"):
        run.predict(parts, rows)
    with ends(InputError, "needs its own top; .*kind 'dense'; got one of kind 'module'"):
        run.runs[GUEST] = {"make_top": module_top(top)}
        run.predict({**parts, GUEST: replace(parts[GUEST], top_kind="dense")}, rows)
    run.runs[GUEST] = {"make_top": top()}
    with ends(InputError, "top of bank cannot be made"):
        run.predict(parts, rows)
    run.runs = {GUEST: {"make_top": module_top(top)}}
    with ends(InputError, "needs its own bottom"):
        run.predict(parts, rows)
