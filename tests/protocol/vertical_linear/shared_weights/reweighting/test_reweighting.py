"""Re-weighting on shares: the weights are the plain ones, nothing opens to either party, and where it is not played."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hekat.data import Table
from hekat.errors import JobError, PartyStoppedError
from hekat.ledger import RecordedChannel
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical.columns import prepare_columns
from hekat.protocol.vertical_linear.mixing import MIXING, apply_mixing
from hekat.protocol.vertical_linear.party_run import PartyRun
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.shared_weights.messages import FactorsMessage, ProductsMessage
from hekat.protocol.vertical_linear.shared_weights.reweighting.reweight import MOST_COLUMNS, fits, is_worth, reweight
from hekat.protocol.vertical_linear.shared_weights.reweighting.weighted_step import find_penalty, reweight_plain
from hekat.protocol.vertical_linear.shared_weights.reweighting.working_rows import WorkingRows
from hekat.protocol.vertical_linear.training_settings import LinearTraining
from hekat.wire import disclosure_of

GUEST, HOST = "bank", "shop"


def play(run_of, converse, settings, tables, working, *, host_part=None):
    """(the parts before, the parts after) of a training and a re-weighting of all rows."""
    run = run_of(settings, tables, exactness_check=False)
    parts = run.run()

    def role(name):
        part = host_part(parts[HOST]) if host_part and name == HOST else parts[name]
        ready = PartyRun(Stopwatch(), key_pair=run.key_pairs[name])
        given = working if name == GUEST else None
        return lambda channel: reweight(channel, part, tables[name], settings, ready, given)

    return parts, converse(role(GUEST), role(HOST))


@pytest.mark.long_cases("none-three classes", "paillier-two classes")
@pytest.mark.parametrize(
    ("protection", "task"),
    [
        ("paillier", "two classes"),
        ("none", "two classes"),
        ("none", "three classes"),
        pytest.param("paillier", "three classes", marks=pytest.mark.long),
    ],
)
def test_weights_are_those_of_plain_numbers(protection, task, run_of, tables_of, settings_of, opened, converse) -> None:
    settings = settings_of(task=task, protection=protection, learning_rate=0.0, batch_rows=0)
    tables = tables_of(8, task=task)
    row_count, rng = len(tables[GUEST]), np.random.default_rng(9)
    shape = (row_count, settings.column_count)
    working = WorkingRows(rng.random(shape), rng.normal(size=shape))
    parts, moved = play(run_of, converse, settings, tables, working)
    features, penalties = [], []
    for name, table in tables.items():
        unmixed = prepare_columns(table, standardise=True, limit_spreads=settings.limit_spreads).features
        mixing = parts[name].arrays[MIXING]
        features.append(apply_mixing(unmixed, mixing))
        penalties.append(find_penalty(unmixed, mixing))
    guests, hosts = (len(one) for one in penalties)
    penalty = np.zeros((guests + hosts, guests + hosts))
    penalty[:guests, :guests], penalty[guests:, guests:] = penalties
    expected = reweight_plain(np.hstack(features), penalty, opened(parts), working, 2)
    assert np.abs(expected - opened(parts)).max() > 0.1
    assert np.abs(opened(moved) - expected).max() < 1e-3


@pytest.mark.long
def test_nothing_but_ciphertexts_passes(run_of, tables_of, settings_of, converse, monkeypatch) -> None:
    """Which public counts say how many of; the scores were told before, by a prediction."""
    received: set[tuple[str, str]] = set()

    def receive(channel, sender, step, message_type, *rest, **named):
        if step.startswith("reweight"):
            received.add((channel.party, message_type.__name__))
        return whole(channel, sender, step, message_type, *rest, **named)

    whole = RecordedChannel.receive
    monkeypatch.setattr(RecordedChannel, "receive", receive)
    settings = settings_of(learning_rate=0.0, batch_rows=0)
    tables = tables_of(8)
    shape = (len(tables[GUEST]), 1)
    play(run_of, converse, settings, tables, WorkingRows(np.ones(shape), np.ones(shape)))
    assert received == {(name, kind) for name in (GUEST, HOST) for kind in ("FactorsMessage", "ProductsMessage")}
    for message in (FactorsMessage, ProductsMessage):
        assert {one.kind for one in disclosure_of(message).values()} == {"ciphertext"}


def test_a_host_with_another_model_is_refused(run_of, tables_of, settings_of, converse) -> None:
    settings = settings_of(protection="none", learning_rate=0.0, batch_rows=0)
    tables = tables_of(8)
    shape = (len(tables[GUEST]), 1)
    other = lambda part: replace(part, model_id="0" * 32)  # noqa: E731
    with pytest.raises(PartyStoppedError, match="shares of different weights"):
        play(run_of, converse, settings, tables, WorkingRows(np.ones(shape), np.ones(shape)), host_part=other)


def test_sparse_columns_are_left_as_they_are(run_of, tables_of, settings_of, converse) -> None:
    settings = settings_of(learning_rate=0.0, batch_rows=0)
    tables = tables_of(4, columns=(6, 5), sparse=True)
    shape = (len(tables[GUEST]), 1)
    _, moved = play(run_of, converse, settings, tables, WorkingRows(np.ones(shape), np.ones(shape)))
    assert moved == {GUEST: None, HOST: None}


def test_some_rows_do_where_training_was_over_all_of_them_in_one_batch() -> None:
    made = VerticalLinearSettings("bank", ("shop",), classes=("no", "yes"))
    assert fits(made, 30_000, 2000)
    assert not fits(made, 40_000, 2000)
    small = replace(made, training=LinearTraining(batch_rows=500))
    assert not fits(small, 2500, 2000)
    assert fits(small, 1500, 1500)
    wide = replace(made, fixed_point=replace(made.fixed_point, feature_bits=22))
    assert not fits(wide, 30_000, 2000)
    assert not fits(replace(made, training=LinearTraining(reweight=False)), 1500, 1500)


def test_large_tables_are_left_as_they_are() -> None:
    assert is_worth(122, 61, 2000, 1)
    assert not is_worth(MOST_COLUMNS + 1, 10, 2000, 1)
    assert not is_worth(200, 190, 2000, 10)


@pytest.mark.parametrize(
    "changes",
    [
        {"arbiter": "hub"},
        {"hosts": ("shop", "mill")},
        {"training": LinearTraining(reweight=True, learning_rate=0.1)},
        {"training": LinearTraining(reweight=True, calibration_rows=0)},
        {"task": "linear", "classes": None},
    ],
)
def test_where_nothing_could_be_reweighted_a_job_that_asks_for_it_is_refused(changes) -> None:
    given = {"hosts": ("shop",), "classes": ("no", "yes"), "training": LinearTraining(reweight=True)} | changes
    with pytest.raises(JobError, match=r"training\.reweight"):
        VerticalLinearSettings("bank", **given)
    left = replace(given["training"], reweight=None)
    assert not VerticalLinearSettings("bank", **(given | {"training": left})).reweights


def test_rows_are_scored_twice_at_most() -> None:
    made = VerticalLinearSettings("bank", ("shop",), classes=("no", "yes"))
    assert made.score_openings == 2
    assert replace(made, training=LinearTraining(reweight=False)).score_openings == 1


def test_a_guest_with_labels_alone_takes_part(run_of, tables_of, settings_of, opened, converse) -> None:
    settings = settings_of(protection="none", learning_rate=0.0, batch_rows=0)
    full = tables_of(8)
    labels = full[GUEST]
    alone = Table(np.zeros((len(labels), 0)), labels.labels, (), labels.name)
    tables = {GUEST: alone, HOST: full[HOST]}
    shape = (len(alone), 1)
    working = WorkingRows(np.full(shape, 0.5), np.random.default_rng(1).normal(size=shape))
    parts, moved = play(run_of, converse, settings, tables, working)
    unmixed = prepare_columns(full[HOST], standardise=True, limit_spreads=settings.limit_spreads).features
    mixing = parts[HOST].arrays[MIXING]
    features = apply_mixing(unmixed, mixing)
    expected = reweight_plain(features, find_penalty(unmixed, mixing), opened(parts), working, 2)
    assert np.abs(opened(moved) - expected).max() < 1e-3
