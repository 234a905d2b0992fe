"""What one party does in a vertical run, before and around its role."""

from __future__ import annotations

from functools import partial
from threading import Event
from types import SimpleNamespace

import pytest

from hekat.errors import InputError, PolicyError
from hekat.protocol.psi.common_rows import INTERSECTION
from hekat.protocol.psi.settings import IntersectionSettings
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical.prediction_limit import check_prediction_limit
from hekat.protocol.vertical_linear import party_roles
from hekat.protocol.vertical_linear.party_roles import (
    MatchedTable,
    Matching,
    match_and_predict,
    match_and_train,
    match_rows,
)
from hekat.protocol.vertical_linear.party_run import PartyRun
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings


def test_aligned_rows_are_all_common_and_nothing_is_sent(tables_of) -> None:
    table, phases = tables_of(1)["bank"], Stopwatch()
    matched = match_rows(None, table, Matching(None, Stopwatch(), phases))
    assert matched.table is table
    assert matched.positions is None
    assert set(phases.seconds) == {INTERSECTION}


@pytest.mark.parametrize("play", ["train", "predict"])
def test_a_caller_may_refuse_the_common_rows_before_the_role_begins(tables_of, play: str) -> None:
    """Without a channel: nothing of the role is played."""
    table, phases, seen = tables_of(1)["bank"], Stopwatch(), []
    matching = Matching(None, Stopwatch(), phases)

    def refuse(matched):
        seen.append(len(matched.table))
        raise InputError("too few rows are common to all parties")

    role = partial(match_and_train, None) if play == "train" else partial(match_and_predict, None, None)
    with pytest.raises(InputError, match="too few rows"):
        role(table, VerticalLinearSettings("bank", ("insurer",), task="linear"), matching, refuse)
    assert seen == [len(table)]
    assert set(phases.seconds) == {INTERSECTION}


def test_a_key_is_made_while_rows_are_matched(tables_of, monkeypatch) -> None:
    """The maker of the key waits here until the rows are matched: one after the other, both would wait for ever."""
    matched, table = Event(), tables_of(1)["bank"]

    def make(bits):
        assert matched.wait(60)
        return f"a key of {bits} bits"

    def begin(found):
        matched.set()
        return PartyRun(Stopwatch())

    monkeypatch.setattr(party_roles, "generate_keys", make)
    monkeypatch.setattr(party_roles, "match_rows", lambda channel, table, matching: MatchedTable(table, None, 0.0))
    monkeypatch.setattr(party_roles, "predict_scores", lambda channel, part, rows, settings, run: run.key_pair)
    settings = IntersectionSettings("bank", ("shop",))
    matching, part = Matching(settings, Stopwatch()), SimpleNamespace(key_bits=2048)
    assert match_and_predict(None, part, table, None, matching, begin, makes_key=True).scores == "a key of 2048 bits"
    assert match_and_predict(None, part, table, None, matching, begin).scores is None


@pytest.mark.parametrize(("used", "rows", "is_refused"), [(0, 10, False), (3, 7, False), (3, 8, True), (10, 1, True)])
def test_a_part_predicts_up_to_its_limit(used: int, rows: int, is_refused: bool) -> None:
    if not is_refused:
        check_prediction_limit("the site of bank", rows, used, 10, "policy.max_predictions")
        return
    with pytest.raises(PolicyError, match="the site of bank does not allow so many predictions") as refused:
        check_prediction_limit("the site of bank", rows, used, 10, "policy.max_predictions")
    assert refused.value.expected == "at most 10 rows in all: policy.max_predictions"
    assert refused.value.got == f"{rows} rows after {used}"
    assert "policy.max_predictions" in refused.value.cure
