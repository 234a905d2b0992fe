"""Joint prediction among three parties or more: the scores of the joined table, at the receivers and nowhere else."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from hekat.errors import PartyStoppedError
from hekat.protocol.vertical.columns import apply_standardiser
from hekat.protocol.vertical_linear.prediction import predict_among_many as module


def plain_scores(parts, tables, weights):
    columns = []
    for name, part in parts.items():
        prepared = apply_standardiser(tables[name].features, part.means, part.spreads)
        prepared = prepared if isinstance(prepared, np.ndarray) else prepared.toarray()
        columns.append(np.rint(prepared * 2.0**16) * 2.0**-16)
    guest = parts["bank"]
    return (np.hstack(columns) @ weights[1:] + weights[0]) * guest.target_spread + guest.target_mean


@pytest.fixture(scope="module")
def trained(many_run_of, many_settings, tables_of, in_order):
    """Parts and weights of a model, trained once for each kind of data and holders."""
    kept = {}

    def train(task="two classes", holders=None, sparse=False, columns=(2, 3, 1)):
        key = (task, holders, sparse, columns)
        if key not in kept:
            tables = tables_of(3, rows=150, columns=columns, task=task, sparse=sparse)
            settings = many_settings(task=task, share_holders=holders, batch_rows=0, epochs=1, protection="none")
            parts = many_run_of(settings, tables, exactness_check=False).run()
            parts = {name: parts[name] for name in settings.parties}
            kept[key] = parts, in_order(settings, tables, parts)
        return kept[key]

    return train


def unlabelled(tables):
    return {name: replace(table, labels=None) for name, table in tables.items()}


@pytest.mark.parametrize(
    ("task", "holders", "receivers"),
    [
        ("two classes", None, ("bank",)),
        ("two classes", None, ("telco",)),
        ("three classes", ("bank", "telco"), ("bank", "shop", "telco")),
        ("number", None, ("shop", "telco")),
        ("number", ("shop", "telco"), ("bank",)),
        ("number", ("shop", "telco"), ("shop",)),
    ],
)
@pytest.mark.sealed
def test_scores_are_those_of_the_joined_table(trained, tables_of, predictions, task, holders, receivers):
    parts, weights = trained(task, holders)
    tables = unlabelled(tables_of(21, rows=13, columns=(2, 3, 1)))
    found = predictions.play(parts, tables, receivers)
    expected, spread = plain_scores(parts, tables, weights), parts["bank"].target_spread
    for name in parts:
        if name in receivers:
            assert np.abs(found[name] - expected).max() < 3.5 * spread * 2.0**-32
        else:
            assert found[name] is None
        lines = [json.loads(line) for line in predictions.ledgers[name].data.splitlines()]
        got = [line for line in lines if line.get("direction") == "received"]
        holders_else = [one for one in parts["bank"].holders if one != name] if name in receivers else []
        assert [line["peer"] for line in got if "score-shares" in line["step"]] == holders_else


def test_rows_in_several_blocks_and_sparse_ones(trained, tables_of, predictions, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_ROWS", 5)
    parts, weights = trained(sparse=True, columns=(4, 3, 2))
    tables = unlabelled(tables_of(23, rows=12, columns=(4, 3, 2), sparse=True))
    found = predictions.play(parts, tables)
    assert np.abs(found["bank"] - plain_scores(parts, tables, weights)).max() < 3.5 * 2.0**-32


@pytest.mark.parametrize("holders", [None, ("shop", "telco")])
def test_a_guest_with_labels_alone_predicts_too(trained, tables_of, predictions, holders):
    parts, weights = trained(holders=holders, columns=(0, 3, 2))
    tables = unlabelled(tables_of(24, rows=9, columns=(0, 3, 2)))
    found = predictions.play(parts, tables, ("bank", "shop"))
    for name in ("bank", "shop"):
        assert np.abs(found[name] - plain_scores(parts, tables, weights)).max() < 3.5 * 2.0**-32


def test_parts_of_different_models_do_not_meet(trained, tables_of, predictions):
    parts, _ = trained()
    other = {**parts, "telco": replace(parts["telco"], model_id="0" * 32)}
    with pytest.raises(PartyStoppedError, match="another part of the model"):
        predictions.play(other, unlabelled(tables_of(25, rows=5, columns=(2, 3, 1))))


def test_addends_of_other_rows_are_refused(trained, tables_of, predictions):
    class Forging:
        def __init__(self, channel):
            self._channel = channel

        def __getattr__(self, name):
            return getattr(self._channel, name)

        def send(self, to, step, message):
            if step.endswith("addends"):
                message = replace(message, shares=message.shares[1:])
            return self._channel.send(to, step, message)

    parts, _ = trained()
    with pytest.raises(PartyStoppedError, match="telco sent another number of addends"):
        predictions.play(parts, unlabelled(tables_of(25, rows=5, columns=(2, 3, 1))), wrap=Forging)


def test_a_quiet_party_needs_no_key_and_sends_none(trained, tables_of, predictions, many_keys):
    parts, _ = trained()
    predictions.keys = {**many_keys, "telco": None}
    sent = []

    class Listening:
        def __init__(self, channel):
            self._channel = channel

        def __getattr__(self, name):
            return getattr(self._channel, name)

        def send(self, to, step, message):
            if self._channel.party == "telco" and step == "hello":
                sent.append(message.public_key)
            return self._channel.send(to, step, message)

    predictions.play(parts, unlabelled(tables_of(25, rows=5, columns=(2, 3, 1))), wrap=Listening)
    assert sent == [b"", b""]


def test_a_quiet_partys_noise_is_the_same_whenever_a_row_is_asked(trained, tables_of, predictions, monkeypatch):
    """Without it many answers about a row would find its score ever more finely (decision 0041)."""
    noise, keep = [], module.score_noise

    def record(features, secret, unit_bits, target_count):
        noise.append((secret.size, keep(features, secret, unit_bits, target_count)))
        return noise[-1][1]

    monkeypatch.setattr(module, "score_noise", record)
    parts, _ = trained()
    tables = unlabelled(tables_of(25, rows=5, columns=(2, 3, 1)))
    for _ in range(2):
        predictions.play(parts, tables, score_bits=12)
    of_quiet = [values for size, values in noise if size == 4]
    assert len(of_quiet) == 2
    assert (of_quiet[0] == of_quiet[1]).all()
    assert len(np.unique(of_quiet[0][:, 0, 0])) == 5
    # The holder that is no receiver adds its own; the only receiver adds none.
    assert len(noise) == 4
