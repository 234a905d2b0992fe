"""Joint scores by a sealed network: the network's in one place, to their receivers alone, within limits; and liars."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.protocol.vertical_network.rehearsal import GUEST, Rehearsal, ends
from tests.protocol.vertical_network.sealed.sealed_run import HOST, crossed_tables, make_sealed

from hekat.data import Table
from hekat.errors import (
    BoundError,
    DivergedError,
    InputError,
    JobError,
    KeyRefusedError,
    PolicyError,
    ProtocolError,
    WireError,
)
from hekat.protocol.shares.share_array import add_shares, to_floats
from hekat.protocol.vertical.prediction_limit import check_prediction_limit
from hekat.protocol.vertical_network.messages import OutputsMessage
from hekat.protocol.vertical_network.model_part import MEANS, SEALED_SHARE, SPREADS, NetworkPart
from hekat.protocol.vertical_network.own_features import standardised
from hekat.protocol.vertical_network.prediction.messages import NetworkScoresMessage, SealedScoreShareMessage
from hekat.protocol.vertical_network.sealed.prediction import predict
from hekat.protocol.vertical_network.sealed.prediction.log_odds import log_odds_of
from hekat.protocol.vertical_network.sealed.scales import SLOT_RING, signs_of
from hekat.protocol.vertical_network.settings import LABELS_ACCEPTED

UNIT = 2.0**-12
NEAR = 5.3 * 8 * UNIT
"""Log-odds rise by up to 5.3 times the score."""


def unlabelled(tables: dict[str, Table]) -> dict[str, Table]:
    return {name: replace(table, labels=None) for name, table in tables.items()}


def trained(protection: str = "none", **changes: Any) -> tuple[Rehearsal, dict[str, NetworkPart]]:
    """A run that is about to predict, and the parts of a training, which is the same one for the same settings."""
    run = Rehearsal(make_sealed(protection=protection, **changes), crossed_tables(1, 100))
    return run, dict(parts_of(protection, **changes))


@cache
def parts_of(protection: str, **changes: Any) -> dict[str, NetworkPart]:
    return Rehearsal(make_sealed(protection=protection, **changes), crossed_tables(1, 100)).run()


def in_one_place(parts: dict[str, NetworkPart], tables: dict[str, Table]) -> np.ndarray:
    """The scores (rows,) by both parts together, in floats."""
    columns = [np.ones((len(tables[GUEST]), 1))]
    for name in (GUEST, HOST):
        part = parts[name]
        columns.append(standardised(tables[name], part.arrays[MEANS], part.arrays[SPREADS], part.limit_spreads))
    weights = to_floats(add_shares(parts[GUEST].arrays[SEALED_SHARE], parts[HOST].arrays[SEALED_SHARE]), 64)
    units = np.concatenate(columns, axis=1) @ weights
    return units[:, :-1] ** 2 @ np.array(signs_of(units.shape[1] - 1)) / 4 + units[:, -1]


@pytest.mark.parametrize("protection", ["none", "lattice"])
def test_scores_are_those_of_the_network_in_one_place(protection, monkeypatch) -> None:
    """Two whole blocks and a ragged one; the host receives as well, where the job lets it learn labels."""
    monkeypatch.setattr(predict, "BLOCK_ROWS", 16)
    run, parts = trained(protection, labels_accepted=LABELS_ACCEPTED)
    rows = unlabelled(crossed_tables(2, 37))
    run.sent.clear()
    found = run.predict(parts, rows, (GUEST, HOST))
    for party in (GUEST, HOST):
        steps = [step for _, step, _ in run.sent[party]]
        assert [step for step in steps if step.endswith("units/factors")] == ["predict/block-1/units/factors"]
        assert len([step for step in steps if step.endswith("units/answer")]) == 3
    expected = in_one_place(parts, rows)
    # Rounding of columns, weights and units, then of the told score with the noise of both.
    assert abs(found[GUEST][:, 0] - log_odds_of(expected)).max() < NEAR
    assert np.array_equal(found[GUEST], found[HOST])
    alone = run.predict(parts, rows)
    assert alone[HOST] is None
    assert abs(alone[GUEST] - found[GUEST]).max() < NEAR
    told = {type(message) for _, _, message in run.sent[GUEST]}
    assert not told & {OutputsMessage, NetworkScoresMessage}


def test_nothing_but_ciphertexts_and_shares_leaves() -> None:
    """A host that receives no score is sent no share of any; what the guest is sent of scores has 28 bits."""
    run, parts = trained("lattice")
    run.sent.clear()
    run.predict(parts, unlabelled(crossed_tables(2, 20)))
    shares = [(sender, one) for sender in run.sent for _, _, one in run.sent[sender] if hasattr(one, "share")]
    assert [(sender, type(one)) for sender, one in shares] == [(HOST, SealedScoreShareMessage)]
    assert int(shares[0][1].share.max()) >> 28 == 0
    # Uniform numbers of 28 bits: twenty below 2^20 have odds of 2^-160.
    assert int(shares[0][1].share.max()) >> 20
    assert any("learns scores of 20 rows" in note for note in run.notes[HOST])


def test_a_host_alone_may_receive_and_then_nothing_of_scores_leaves_it() -> None:
    run, parts = trained(labels_accepted=LABELS_ACCEPTED)
    rows = unlabelled(crossed_tables(2, 20))
    run.sent.clear()
    found = run.predict(parts, rows, (HOST,))
    assert found[GUEST] is None
    assert abs(found[HOST][:, 0] - log_odds_of(in_one_place(parts, rows))).max() < NEAR
    shares = [(sender, type(one)) for sender in run.sent for _, _, one in run.sent[sender] if hasattr(one, "share")]
    assert shares == [(GUEST, SealedScoreShareMessage)]
    assert [f"{HOST} learns scores of 20 rows" in note for note in run.notes[GUEST]].count(True) == 1
    assert not any(f"{GUEST} learns scores" in note for note in run.notes[HOST])
    with ends(JobError, "or label_leak.accepted"):
        run.predict({name: replace(part, labels_accepted=False) for name, part in parts.items()}, rows, (HOST,))


def test_a_party_adds_its_noise_where_it_sends_shares_and_nowhere_else(monkeypatch) -> None:
    """With noise of 2^-6 in place of its own: of the host for the guest alone, of both where both receive."""
    run, parts = trained(labels_accepted=LABELS_ACCEPTED)
    rows, asked = unlabelled(crossed_tables(2, 20)), []

    def add(scores: np.ndarray, columns: np.ndarray, secret: np.ndarray) -> np.ndarray:
        asked.append((columns.shape[1], secret))
        return SLOT_RING.add(scores, SLOT_RING.constant(1 << 20, 1))

    monkeypatch.setattr(predict, "log_odds_of", lambda scores: scores)
    monkeypatch.setattr(predict, "add_noise", add)
    expected = in_one_place(parts, rows)
    for receivers, noises in (((GUEST,), 1), ((GUEST, HOST), 2)):
        found = run.predict(parts, rows, receivers)[GUEST][:, 0]
        assert abs(found - expected - noises * 2**-6).max() < 2**-8
    assert sorted(width for width, _ in asked) == [3, 3, 3]
    assert np.array_equal(asked[0][1], parts[HOST].arrays[SEALED_SHARE])


def test_rows_are_counted_at_both_parties_before_anything_leaves() -> None:
    for party in (GUEST, HOST):
        run, parts = trained()
        run.runs = {party: {"count_predictions": lambda rows: check_prediction_limit("x", rows, 30, 40, "a limit")}}
        run.sent.clear()
        with ends(PolicyError, "does not allow so many"):
            run.predict(parts, unlabelled(crossed_tables(2, 11)))
        assert not run.sent.get(party)
        assert run.predict(parts, unlabelled(crossed_tables(2, 10)))[GUEST].shape == (10, 1)


def test_parts_that_do_not_belong_together_are_refused() -> None:
    run, parts = trained()
    others = Rehearsal(run.settings, run.tables).run()
    rows = unlabelled(crossed_tables(2, 5))
    with ends(ProtocolError, "another part of the model"):
        run.predict({GUEST: parts[GUEST], HOST: others[HOST]}, rows)
    with ends(ProtocolError, "another number of rows"):
        run.predict(parts, {**rows, HOST: rows[HOST].take(np.arange(4))})
    with ends(InputError, "other columns"):
        run.predict(parts, {**rows, HOST: replace(rows[HOST], feature_names=("a", "b", "c"))})
    with ends(JobError, "labels of rows that it has marked"):
        run.predict(parts, rows, (GUEST, HOST))
    with ends(InputError, "a part of another party"):
        run.predict({GUEST: parts[GUEST], HOST: parts[GUEST]}, rows)


def test_shares_of_another_epoch_show() -> None:
    """As a state of an earlier epoch put into a part: shares no longer add up to weights."""
    run, parts = trained("lattice")
    early = replace(parts[HOST], arrays={**parts[HOST].arrays, SEALED_SHARE: parts[GUEST].arrays[SEALED_SHARE]})
    with ends(DivergedError, "out of range"):
        run.predict({**parts, HOST: early}, unlabelled(crossed_tables(2, 20)))


def test_columns_in_another_order_are_put_into_the_order_of_the_part() -> None:
    run, parts = trained()
    rows = unlabelled(crossed_tables(2, 12))
    turned = rows[HOST].features[:, ::-1].copy()
    mixed = replace(rows[HOST], features=turned, feature_names=rows[HOST].feature_names[::-1])
    assert abs(run.predict(parts, {**rows, HOST: mixed})[GUEST] - run.predict(parts, rows)[GUEST]).max() < NEAR


def cut(message: Any) -> Any:
    """The same numbers, but for the last byte."""
    return type(message)([data[:-1] for data in message.values])


class Replay:
    """Sends, in place of a step's message, the one of an earlier prediction."""

    def __init__(self, sender: str, step: str) -> None:
        self._sender, self._step, self._kept = sender, step, None

    def __call__(self, sender: str, to: str, step: str, message: Any) -> Any:
        if (sender, step) != (self._sender, self._step):
            return message
        kept, self._kept = self._kept, message
        return message if kept is None else kept


@pytest.mark.quick_values
@pytest.mark.parametrize(
    ("sender", "step"),
    [
        (GUEST, "predict/block-1/units/factors"),
        (HOST, "predict/block-1/units/factors"),
        (HOST, "predict/block-1/squares/factors"),
        (GUEST, "predict/block-1/squares/answer"),
        (HOST, "predict/block-1/units/answer"),
    ],
)
def test_numbers_of_another_session_or_shape_are_refused(sender, step) -> None:
    run, parts = trained("lattice")
    rows = unlabelled(crossed_tables(2, 6))
    run.tamper = lambda one, to, at, message: cut(message) if (one, at) == (sender, step) else message
    with ends(WireError, "."):
        run.predict(parts, rows)
    run.tamper = Replay(sender, step)
    run.predict(parts, rows)
    with ends(WireError, "."):
        run.predict(parts, rows)


def test_shares_of_other_scores_and_a_returned_key_are_refused() -> None:
    run, parts = trained("lattice")
    rows = unlabelled(crossed_tables(2, 6))
    for bad in (np.zeros(5, np.uint64), np.zeros((6, 1), np.uint64), np.full(6, 1 << 28, np.uint64)):
        run.tamper = lambda sender, to, step, message, bad=bad: (
            SealedScoreShareMessage(bad) if step == predict.SHARE_STEP else message
        )
        with ends(ProtocolError, "no shares of these scores"):
            run.predict(parts, rows)
    keys = []

    def give_back(sender: str, to: str, step: str, message: Any) -> Any:
        if step == "predict/call":
            keys.append(message.public_key)
        return type(message)(keys[0]) if step == predict.KEY_STEP else message

    run.tamper = give_back
    with ends(KeyRefusedError, "this party's key"):
        run.predict(parts, rows)


def test_more_rows_than_odds_allow_are_refused(monkeypatch) -> None:
    run, parts = trained()
    monkeypatch.setattr(predict, "run_bits", lambda shape, steps, momentum: 31.9)
    run.sent.clear()
    with ends(BoundError, "go astray too often"):
        run.predict(parts, unlabelled(crossed_tables(2, 6)))
    assert not any(run.sent.values())


@pytest.mark.parametrize("column", [0, 2])
def test_a_guest_that_lies_reads_a_column_of_the_host(column, monkeypatch) -> None:
    """What the limit on rows is for: with a number added to its share of one linear weight, two predictions tell the
    host's column of each row. The host cannot tell; SECURITY.md says so."""
    run, parts = trained("lattice")
    rows = unlabelled(crossed_tables(2, 9))
    share = parts[GUEST].arrays[SEALED_SHARE].copy()
    place = parts[GUEST].widths[GUEST] + column
    share[place, -1] = add_shares(share[place, -1], np.array([0, 1], np.uint64))
    lying = replace(parts[GUEST], arrays={**parts[GUEST].arrays, SEALED_SHARE: share})
    told: list[np.ndarray] = []
    monkeypatch.setattr(predict, "log_odds_of", lambda scores: told.append(scores) or log_odds_of(scores))
    for part in (lying, parts[GUEST]):
        run.predict({**parts, GUEST: part}, rows)
    part = parts[HOST]
    columns = standardised(rows[HOST], part.arrays[MEANS], part.arrays[SPREADS], part.limit_spreads)
    assert abs(told[0] - told[1] - columns[:, column]).max() < 8 * UNIT


def test_log_odds_are_of_the_probability_that_the_loss_has_its_least_mean_at() -> None:
    """Of labels 1 with odds p, the score of the least mean loss; and rows keep their order."""
    scores = np.linspace(-1.8, 1.8, 7)
    probability = 1 / (1 + np.exp(-log_odds_of(scores)))
    assert np.allclose(probability, 0.5 + scores / 4)
    slope = probability * (scores / 4 - 0.5) + (1 - probability) * (scores / 4 + 0.5)
    assert np.allclose(slope, 0)
    wide = np.linspace(-600, 600, 100_001)
    assert (np.diff(log_odds_of(wide)) > 0).all()
    assert np.allclose(log_odds_of(-wide), -log_odds_of(wide))
