"""What a host sees of a training on shares tells it no label; the same attack on true gradients tells it all."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hekat.data import Table
from hekat.protocol.shares.share_array import add_shares, to_floats
from hekat.protocol.vertical.columns import prepare_columns
from hekat.protocol.vertical_linear.objective import residual_of
from hekat.protocol.vertical_linear.shared_weights import guest
from hekat.protocol.vertical_linear.shared_weights.cross_products import paillier as cross_products
from hekat.protocol.vertical_linear.shared_weights.training import SharedTraining
from hekat.protocol.vertical_linear.shared_weights.weights import SharedWeights

ROWS, HOST_COLUMNS, BATCH_ROWS = 200, 12, 10


@pytest.fixture
def views(monkeypatch):
    """What each side has in every step: its shares of gradients, the weights before it, and all that it opened."""
    seen = {True: [], False: []}
    opened = {"bank": [], "shop": []}
    move, read = SharedWeights.move, cross_products.PaillierCrossProducts._open

    def record_move(self, gradient, row_count):
        seen[self._pair.is_guest].append((gradient, self.weights))
        move(self, gradient, row_count)

    def record_open(self, step, shape, layout):
        found = read(self, step, shape, layout)
        opened[self._channel.party].append((step, found))
        return found

    monkeypatch.setattr(SharedWeights, "move", record_move)
    monkeypatch.setattr(cross_products.PaillierCrossProducts, "_open", record_open)
    return seen, opened


def recover_labels(columns, batches, equations):
    """The attack: solve X^T d = g for the residuals of each batch; with weights of 0, d is -y / 2."""
    labels = np.zeros(ROWS)
    for rows, gradient in zip(batches, equations, strict=True):
        solved, *_ = np.linalg.lstsq(columns[rows].T, gradient, rcond=None)
        labels[rows] = np.where(solved < 0, 1, -1)
    return labels


@pytest.mark.long
def test_the_label_recovery_attack_gets_nothing(run_of, settings_of, views, gradient_method, monkeypatch):
    rng = np.random.default_rng(11)
    labels = rng.permutation(np.arange(ROWS) % 2)
    tables = {
        "bank": Table(rng.normal(size=(ROWS, 2)), labels, ("a", "b"), "bank"),
        "shop": Table(rng.normal(size=(ROWS, HOST_COLUMNS)), None, tuple("cdefghijklmn"), "shop"),
    }
    batches = []
    keep = SharedTraining.play_batches
    # So slow that weights stay near 0, where the attack is at its best.
    settings = settings_of(epochs=1, batch_rows=BATCH_ROWS, learning_rate=2.0**-20)

    def play(training, epoch):
        batches[:] = training.own.batches
        return keep(training, epoch)

    monkeypatch.setattr(SharedTraining, "play_batches", play)
    run_of(settings, tables, exactness_check=False).run()
    seen, opened = views
    columns = prepare_columns(tables["shop"], standardise=True).features
    signs = np.where(labels == 1, 1, -1)
    own = slice(3, 3 + HOST_COLUMNS)
    scale = 2.0**3  # sums were divided by 2^floor(log2 10)

    true = [
        to_floats(add_shares(g, h), 32)[own, 0] * scale for (g, _), (h, _) in zip(seen[True], seen[False], strict=True)
    ]
    assert (recover_labels(columns, batches, true) == signs).mean() == 1.0

    # Six standard deviations of guessing 200 labels.
    chance = 6 * 0.5 / np.sqrt(ROWS)
    views_of_host = {
        "gradient shares": [to_floats(share, 32)[own, 0] * scale for share, _ in seen[False]],
        "weight shares": [to_floats(weights, 32)[own, 0] for _, weights in seen[False][1:]] + [np.zeros(HOST_COLUMNS)],
    }
    answers = [values for step, values in opened["shop"] if step.endswith("/products") and "columns" not in step]
    assert len(answers) == len(batches)
    rows_of = [cross_products.rows_of_slots(values)[:, 0] for values in answers]
    # By residuals the host opens shares of the guest's columns alone; by products, of all of them.
    width = HOST_COLUMNS if gradient_method == "gram" else 2
    start = 3 if gradient_method == "gram" else 0
    views_of_host["opened"] = [
        np.resize(to_floats(values[start : start + width], 0), HOST_COLUMNS) for values in rows_of
    ]
    if gradient_method == "gram":
        # The guest's answer to the host's columns: shares of X^T y are its last row.
        products = [values for step, values in opened["shop"] if step.endswith("columns/products")]
        assert len(products) == len(batches)
        views_of_host["products of labels"] = [
            to_floats(values.reshape(4, -1, 2)[3, :HOST_COLUMNS], 0) for values in products
        ]
    for what, equations in views_of_host.items():
        accuracy = (recover_labels(columns, batches, equations) == signs).mean()
        assert abs(accuracy - 0.5) < chance, f"{what}: {accuracy:.2f} of the labels"


@pytest.mark.long
def test_shares_of_weights_and_gradients_are_uniform_at_each_party(
    run_of, settings_of, tables_of, views, gradient_method
):
    run_of(settings_of(epochs=3, batch_rows=6), tables_of(12), exactness_check=False).run()
    seen, _ = views
    for is_guest in (True, False):
        assert len(seen[is_guest]) == 30
        # Gradients are truncated by less than 90 bits; what is left of each share is uniform.
        shares = np.concatenate([gradient.reshape(-1, 2) for gradient, _ in seen[is_guest]])
        low = shares[:, 0] & np.uint64(2**20 - 1)
        fractions = low / 2.0**20
        assert abs(fractions.mean() - 0.5) < 6 * 0.289 / np.sqrt(len(low))
        for bit in range(20):
            ones = int((low >> np.uint64(bit) & np.uint64(1)).sum())
            assert abs(ones - len(low) / 2) < 3 * np.sqrt(len(low))


@pytest.mark.sealed
def test_the_ledgers_say_what_opens_and_the_host_gets_no_loss(run_of, settings_of, tables_of):
    run = run_of(settings_of(epochs=1), tables_of(12))
    run.run()
    told = {}
    for name, channel in run.channels.items():
        entries = [json.loads(line) for line in channel.ledger.data.splitlines()]
        received = [entry for entry in entries if entry.get("direction") == "received"]
        told[name] = {field["name"] for entry in received for field in entry["fields"] if field["class"] == "disclosed"}
    assert told == {"bank": {"column_count", "sparse", "share"}, "shop": {"column_count", "sparse", "finished"}}


@pytest.mark.quick_cases("residuals-two classes", "gram-number")
@pytest.mark.parametrize("task", ["two classes", "number"])
def test_the_loss_opens_to_24_bits_and_no_finer(
    run_of, settings_of, tables_of, centralised, gradient_method, task, monkeypatch
):
    """The opened loss is a whole number of 2^-24: finer digits would be a sum over rows that the guest could solve
    with."""
    opened = []
    monkeypatch.setattr(guest, "add_shares", lambda *shares: (opened.append(add_shares(*shares)), opened[-1])[1])
    settings, tables = settings_of(task=task, learning_rate=0.1), tables_of(14, task=task)
    run = run_of(settings, tables, exactness_check=False)
    run.run()
    _, losses = centralised(settings, tables)
    residual = residual_of(settings.task)
    units = [residual.mean_square(loss) * 2.0**24 for loss in losses]
    assert len(opened) == len(units) == 2
    # Each batch's sum and their mean are truncated, by less than a unit each.
    assert np.allclose([float(to_floats(one, 0)) for one in opened], units, rtol=0, atol=3)
    for record in run.records["bank"]:
        told = residual.mean_square(record.loss) * 2.0**24
        assert abs(told - round(told)) < 2.0**-20
