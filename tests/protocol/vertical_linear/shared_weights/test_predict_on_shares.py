"""Joint prediction on shares: the scores of the joined table, at the receivers alone, and no share of anything else."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from hekat.errors import PartyStoppedError, ProtocolError
from hekat.protocol.shares.share_array import add_shares, random_shares
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical.columns import apply_standardiser
from hekat.protocol.vertical_linear.party_run import PartyRun
from hekat.protocol.vertical_linear.prediction import predict_on_shares as predict
from hekat.protocol.vertical_linear.prediction.messages import TargetSpreadMessage
from hekat.protocol.vertical_linear.prediction.predict_scores import predict_scores
from hekat.protocol.vertical_linear.prediction.settings import PredictionSettings

BOTH = ("bank", "shop")


class Forging:
    """A channel that alters what is sent."""

    def __init__(self, channel, forge):
        self._channel, self._forge = channel, forge

    def __getattr__(self, name):
        return getattr(self._channel, name)

    def send(self, to, step, message):
        return self._channel.send(to, step, self._forge(message))


@pytest.fixture
def predict_jointly(converse, key_pairs):
    def play(parts, tables, receivers, ledgers=None, forge=lambda message: message, score_bits=32):
        def role(name):
            def predict_here(channel):
                if ledgers is not None:
                    ledgers[name] = channel.ledger
                channel = Forging(channel, forge)
                settings = PredictionSettings("bank", ("shop",), receivers, score_bits)
                run = PartyRun(Stopwatch(), key_pair=key_pairs[name])
                return predict_scores(channel, parts[name], tables[name], settings, run)

            return predict_here

        return converse(role("bank"), role("shop"))

    return play


def plain_scores(parts, tables, opened):
    weights = opened(parts)
    columns = []
    for name, part in parts.items():
        prepared = apply_standardiser(tables[name].features, part.means, part.spreads)
        prepared = prepared if isinstance(prepared, np.ndarray) else prepared.toarray()
        columns.append(np.rint(prepared * 2.0**16) * 2.0**-16)
    guest = parts["bank"]
    return (np.hstack(columns) @ weights[1:] + weights[0]) * guest.target_spread + guest.target_mean


@pytest.mark.quick_values
@pytest.mark.parametrize("task", ["two classes", "three classes", "number"])
@pytest.mark.parametrize("receivers", [("bank",), ("shop",), BOTH])
@pytest.mark.sealed
def test_scores_are_those_of_the_joined_table(run_of, tables_of, settings_of, opened, predict_jointly, task, receivers):
    parts = run_of(settings_of(task=task, epochs=1, batch_rows=0, protection="none"), tables_of(20, task=task)).run()
    tables = {name: replace(table, labels=None) for name, table in tables_of(21, rows=13).items()}
    ledgers = {}
    found = predict_jointly(parts, tables, receivers, ledgers)
    expected = plain_scores(parts, tables, opened)
    spread = parts["bank"].target_spread
    for name in BOTH:
        if name in receivers:
            assert np.abs(found[name] - expected).max() < 3 * spread * 2.0**-32
        else:
            assert found[name] is None
        received = [json.loads(line) for line in ledgers[name].data.splitlines()]
        shared = [
            entry for entry in received if entry.get("direction") == "received" and "score-shares" in entry["step"]
        ]
        assert len(shared) == (name in receivers)


def test_rows_in_several_blocks_and_sparse_ones(run_of, tables_of, settings_of, opened, predict_jointly, monkeypatch):
    monkeypatch.setattr(predict, "BLOCK_ROWS", 5)
    parts = run_of(settings_of(epochs=1, protection="none"), tables_of(22, columns=(6, 5), sparse=True)).run()
    fresh = tables_of(23, rows=12, columns=(6, 5), sparse=True)
    tables = {name: replace(table, labels=None) for name, table in fresh.items()}
    found = predict_jointly(parts, tables, ("bank",))
    assert np.abs(found["bank"] - plain_scores(parts, tables, opened)).max() < 3 * 2.0**-32


def test_what_a_receiver_gets_is_uniform_by_itself(run_of, tables_of, settings_of, predict_jointly, monkeypatch):
    parts = run_of(settings_of(epochs=1, protection="none"), tables_of(24)).run()
    tables = {name: replace(table, labels=None) for name, table in tables_of(25, rows=400).items()}
    got = []
    monkeypatch.setattr(predict, "add_shares", lambda own, other: (got.append(other), add_shares(own, other))[1])
    predict_jointly(parts, tables, ("bank",))
    # Shares that came are added last.
    low = got[-1][:, 0, 0]
    for bit in range(64):
        # Six standard deviations of 400 fair coins.
        assert abs(int((low >> np.uint64(bit) & np.uint64(1)).sum()) - 200) < 6 * 10


def test_parts_of_different_models_do_not_meet(run_of, tables_of, settings_of, predict_jointly):
    runs = [run_of(settings_of(epochs=1, protection="none"), tables_of(26)).run() for _ in range(2)]
    tables = {name: replace(table, labels=None) for name, table in tables_of(27).items()}
    with pytest.raises(PartyStoppedError, match="another part of the model") as caught:
        predict_jointly({"bank": runs[0]["bank"], "shop": runs[1]["shop"]}, tables, ("bank",))
    assert isinstance(caught.value.__cause__, ProtocolError)


def test_shares_of_another_shape_are_refused(run_of, tables_of, settings_of, predict_jointly):
    parts = run_of(settings_of(epochs=1, protection="none"), tables_of(26)).run()
    tables = {name: replace(table, labels=None) for name, table in tables_of(27).items()}
    arrays = {"weight_shares": random_shares((9, 1)), "intercept_shares": random_shares((1,))}
    spoiled = {name: replace(part, arrays=arrays) for name, part in parts.items()}
    with pytest.raises(PartyStoppedError, match="other columns than the model was trained on"):
        predict_jointly(spoiled, tables, ("bank",))


@pytest.mark.parametrize("spread", [0.0, -1.0, float("nan"), float("inf")])
def test_a_spread_that_is_none_is_refused(run_of, tables_of, settings_of, predict_jointly, spread):
    parts = run_of(settings_of(task="number", epochs=1, protection="none"), tables_of(28, task="number")).run()
    tables = {name: replace(table, labels=None) for name, table in tables_of(29, rows=5).items()}

    def forge(message):
        return replace(message, spread=spread) if isinstance(message, TargetSpreadMessage) else message

    with pytest.raises(PartyStoppedError, match="bank sent no spread") as caught:
        predict_jointly(parts, tables, ("shop",), forge=forge)
    assert caught.value.party == "shop"
    assert isinstance(caught.value.__cause__, ProtocolError)


@pytest.mark.parametrize("task", ["two classes", "number"])
@pytest.mark.parametrize("bits", [3, 12, 40])
def test_scores_of_shares_are_told_as_finely_as_agreed(
    run_of, tables_of, settings_of, opened, predict_jointly, monkeypatch, task, bits
):
    """Neither the receiver's share nor the share that it is sent has the finer bits."""
    parts = run_of(settings_of(task=task, epochs=1, batch_rows=0, protection="none"), tables_of(20, task=task)).run()
    tables = {name: replace(table, labels=None) for name, table in tables_of(21, rows=13).items()}
    met = []
    monkeypatch.setattr(predict, "add_shares", lambda own, other: (met.append((own, other)), add_shares(own, other))[1])
    found = predict_jointly(parts, tables, ("bank",), score_bits=bits)["bank"]
    spread, told = parts["bank"].target_spread, min(bits, 32)
    off = np.abs(found - plain_scores(parts, tables, opened)).max()
    assert off < 1.5 * spread * 2.0**-told + 3 * spread * 2.0**-32
    cut_bits = 16 + 32 - told
    for share in met[-1]:
        values = [int(low) + (int(high) << 64) for low, high in share.reshape(-1, 2)]
        # But for the mean of a regression's target, which the guest adds: below 2^64.
        assert all(min(value, 2**128 - value) < (1 << (128 - cut_bits)) + 2**64 for value in values)
