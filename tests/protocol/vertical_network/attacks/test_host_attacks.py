"""What a host finds beyond labels, or past the protocol: columns from slopes, slopes and weights by a lie, marked rows.

None of this is prevented; jobs and sites say yes to it in words. These tests hold the documents to what they say.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from hekat.model.split import BottomTask, TopTask, dense_bottom
from hekat.protocol.vertical.label_privacy import RandomisedResponse
from hekat.protocol.vertical_network.arithmetic.lattice import LatticeArithmetic
from hekat.protocol.vertical_network.arithmetic.make import feature_slopes
from hekat.protocol.vertical_network.fixed_point import add, multiply, reduce, signed, subtract
from hekat.protocol.vertical_network.guest_side.own_network import OwnNetwork
from hekat.protocol.vertical_network.guest_side.top import dense_top
from hekat.protocol.vertical_network.network_settings import NetworkShape, NetworkTraining

FloatArray = Any


@pytest.fixture(scope="module")
def trained(attacks: SimpleNamespace) -> SimpleNamespace:
    """Ten epochs of a host that trains, with labels that answer once at epsilon 1; eight independent columns each."""
    rng = np.random.default_rng(5)
    guest, host = rng.normal(size=(6_000, 8)), rng.normal(size=(6_000, 8))
    score = 1.2 * guest[:, 0] - guest[:, 1] + 0.8 * guest[:, 2] * (guest[:, 3] > 0) + host[:, 0] - 0.7 * host[:, 1] - 1
    labels = (rng.random(6_000) < 1 / (1 + np.exp(-score))).astype(np.int64)
    response = RandomisedResponse(1.0, 2)
    answers = np.where(rng.random(6_000) < response.keep_odds, labels, 1 - labels)
    rows = np.arange(6_000)
    columns = attacks.watched_network.SplitColumns(guest, host, labels, rows, rows[:0])
    targets = response.unbiased_targets(answers)[:, 1]
    network = attacks.watched_network.SplitNetwork(columns, "trained", 5, targets=targets, batch_rows=1_000)
    return SimpleNamespace(columns=columns, batches=list(network.train(10)))


@pytest.mark.long
def test_slopes_tell_a_host_columns_of_the_guest_whatever_labels_answer(attacks: Any, trained: Any) -> None:
    find = attacks.on_columns.columns_from_slopes
    found = find(trained.batches, trained.columns.guest, 300)
    drawn = np.random.default_rng(6).normal(size=trained.columns.guest.shape)
    nothing = find(trained.batches, drawn, 300)
    print(np.round(found, 2), np.round(nothing, 2))
    assert np.sort(found)[-2:].min() > 0.3
    assert nothing.max() < 0.1  # columns that no slope follows from are not found


def test_a_host_that_adds_a_matrix_to_its_addend_reads_slopes_and_its_weights() -> None:
    rng, (rows, width, units) = np.random.default_rng(2), (200, 32, 16)
    guest, host = LatticeArithmetic(), LatticeArithmetic()
    guest.meet("host", host.public_key)
    host.meet("guest", guest.public_key)
    weights = np.rint(np.ldexp(rng.normal(scale=0.2, size=(width, units)), 20)).astype(np.int64)
    V = rng.integers(0, 1 << 60, (width, units), dtype=np.uint64)
    slopes = rng.normal(scale=0.05, size=(rows, units)) * (rng.random((rows, units)) < 0.5)
    D = np.rint(np.ldexp(slopes, 24)).astype(np.int64)
    product = feature_slopes(rows, width, units)
    added = np.zeros((width, units), np.int64)
    added[:units] = np.eye(units, dtype=np.int64) << 36
    sent = add(subtract(reduce(weights), V), reduce(added))
    held = guest.read_held("host", host.hold(np.ascontiguousarray(sent.T), product), product)
    data, share = guest.answer(held, guest.prepare(D, product), product)
    # The guest's answer, as GuestLayer gives it.
    opened = signed(add(host.open("guest", data, product), add(share, multiply(D, V.T)))).astype(float)
    found = opened[:, :units] / 2.0**36
    other_half = np.linalg.lstsq(found, opened[:, units:], rcond=None)[0].T
    assert np.abs(found - D).max() < 1e-3 * D.std()
    assert np.abs(other_half - weights[units:]).max() < 1e-3 * weights.std()
    assert np.array_equal(np.abs(found) > 200, D != 0)  # which units are on


@pytest.mark.parametrize(("factor", "reads"), [(1580.0, True), (1.0, False)])
def test_two_scores_tell_a_host_labels_of_rows_that_it_marked(factor: float, reads: bool) -> None:
    """A fixed bottom: 31 rows have a feature of their own, whose slopes the host multiplies by more than its size."""
    training, rng, rows = NetworkTraining(shared_rate=0.2), np.random.default_rng(0), 6_000
    own = rng.normal(size=(rows, 8))
    labels = (rng.random(rows) < 1 / (1 + np.exp(-(own[:, 0] - own[:, 1] - 1)))).astype(float)[:, None]
    marked = rng.permutation(rows)[:31]
    features = np.zeros((rows, 32))
    features[:, 31] = 1.0
    features[marked, np.arange(31)] = 0.05
    network = OwnNetwork(
        dense_bottom(BottomTask(own, 32, True, 0, 0.005, (), "relu")),
        dense_top(NetworkShape(), TopTask(32, 1, training.learning_rate, 2)),
        2,
        units=32,
        learning_rate=training.learning_rate,
        l2=0.0,
        seed=1,
        input_count=64,
    )
    weights = rng.normal(scale=(2 / 64) ** 0.5, size=(32, 32))
    velocity, batches = np.zeros_like(weights), np.array_split(rng.permutation(rows), 6)
    for batch in batches * training.epochs:
        _, D = network.finish(network.forward(own[batch]) + features[batch] @ weights, labels[batch])
        network.backward()
        multiplied = features[batch].copy()
        multiplied[:, :31] *= factor
        velocity = training.momentum_units / 256 * velocity + multiplied.T @ D
        weights -= training.shared_rate / len(batch) * velocity
    with_mark, without = features[marked], features[marked]
    with_mark[np.arange(31), np.arange(31)] = 0.5
    without[:, :31] = 0.0
    scores = [network.evaluate(own[marked], given @ weights)[:, 0] for given in (with_mark, without)]
    found = roc_auc_score(labels[marked, 0], scores[0] - scores[1])
    print(round(found, 3))
    assert (found > 0.95) == reads
