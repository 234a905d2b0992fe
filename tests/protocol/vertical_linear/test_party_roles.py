"""What one party does in a vertical run, before and around its role."""

from __future__ import annotations

from functools import partial

import pytest

from hekat.errors import InputError, PolicyError
from hekat.protocol.psi.common_rows import INTERSECTION
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_linear.party_roles import Matching, match_and_predict, match_and_train, match_rows
from hekat.protocol.vertical_linear.prediction.limit import check_prediction_limit


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
        role(table, None, matching, refuse)
    assert seen == [len(table)]
    assert set(phases.seconds) == {INTERSECTION}


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
