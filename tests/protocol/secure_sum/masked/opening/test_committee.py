"""Sizes of committees, sums of shares, and openings with members that lie."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.protocol.secure_sum.masked.opening.sharing import share_secret

from hekat.errors import InputError, PolicyError, ProtocolError
from hekat.protocol.secure_sum.masked.opening.committee import (
    MAX_ADDENDS,
    equivocation_bound,
    form_committee,
    least_included,
    member_count_of,
    open_sum,
    sum_shares,
    threshold_of,
)
from hekat.protocol.secure_sum.masked.opening.field import PRIME, evaluate_at, to_field
from hekat.protocol.secure_sum.masked.opening.opening_schemes import CommitteeScheme
from hekat.protocol.secure_sum.masked.opening.release_record import ReleaseRecord
from hekat.protocol.secure_sum.masked.opening.share_check import judge_dealers

DEGREE = 64
DOCUMENT = Path(__file__).parents[5] / "docs/spec/committee.md"
Releases = dict[int, npt.NDArray[np.uint16]]


def released(member_count: int, party_count: int, seed: int) -> tuple[npt.NDArray[np.int32], Releases]:
    """(the sum of random secrets, every member's true release of it)."""
    print(f"seed {seed}")
    secrets = np.random.default_rng(seed).integers(-21, 22, (party_count, DEGREE)).astype(np.int8)
    shares = [share_secret(secret, member_count, threshold_of(member_count)) for secret in secrets]
    sums = {x: sum_shares([share[x - 1] for share in shares], DEGREE) for x in range(1, member_count + 1)}
    return secrets.sum(axis=0, dtype=np.int32), sums


@pytest.mark.parametrize(
    ("parties", "told"),
    [
        (3, "3 of 3 members (a, b, c): 0 may be lost; 1 party may work with the aggregator"),
        (5, "4 of 5 members (a, b, c, d, e): 1 may be lost; 2 parties may work with the aggregator"),
    ],
)
def test_a_committee_says_how_many_may_work_with_the_aggregator(parties, told) -> None:
    assert CommitteeScheme(form_committee("abcdefgh"[:parties])).describe() == f"sums are opened by {told}"


def altered(row: npt.NDArray[np.uint16], by: int = 1, where: int = 0) -> npt.NDArray[np.uint16]:
    row = row.copy()
    row[where] = (int(row[where]) + by) % PRIME
    return row


def test_sizes_are_those_of_the_specification() -> None:
    assert [member_count_of(p) for p in (2, 3, 6, 7, 8, 200)] == [2, 3, 6, 7, 7, 7]
    assert [threshold_of(c) for c in range(2, 8)] == [2, 3, 3, 4, 5, 5]
    assert [equivocation_bound(c, threshold_of(c)) for c in range(2, 8)] == [1, 2, 1, 2, 3, 2]
    assert [least_included(p) for p in (3, 4, 5, 6, 7, 10, 100, 200)] == [3, 3, 4, 4, 5, 7, 67, 134]


def test_the_document_has_the_sizes_of_the_code() -> None:
    rows = re.findall(r"^\| (\d+) \| ([\d |*]+) \|$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) >= 8
    for party_count, rest in ((int(first), [int(x) for x in re.findall(r"\d+", rest)]) for first, rest in rows):
        c = member_count_of(party_count)
        t = threshold_of(c)
        least = least_included(party_count, allow_two_parties=True)
        assert rest == [c, t, c - t, equivocation_bound(c, t), t, least, least - 2]


def test_two_parties_only_where_the_job_says_so() -> None:
    with pytest.raises(PolicyError, match="allow_two_parties"):
        form_committee(["a", "b"])
    committee = form_committee(["a", "b"], allow_two_parties=True)
    assert (committee.members, committee.threshold, committee.least_included) == (("a", "b"), 2, 2)
    with pytest.raises(PolicyError):
        form_committee(["a"], allow_two_parties=True)


def test_members_are_those_that_were_drawn_at_points_from_one() -> None:
    parties = [f"p{i}" for i in range(10)]
    drawn = [*parties[:2], *parties[4:9]]
    committee = form_committee(parties, drawn)
    assert committee.members == tuple(drawn)
    assert [committee.point_of(name) for name in committee.members] == list(range(1, 8))
    assert [committee.name_of(x) for x in range(1, 8)] == list(committee.members)
    strangers, others = [*drawn[:6], "q"], drawn[::-1]
    for call in (
        lambda: form_committee(["a", "b", "a"]),
        lambda: committee.point_of("p9"),
        lambda: form_committee(parties),
        lambda: form_committee(parties, drawn[:6]),
        lambda: form_committee(parties, strangers),
        lambda: form_committee(parties, others),
        lambda: form_committee(parties, [*drawn[:6], drawn[5]]),
    ):
        with pytest.raises(InputError):
            call()


@pytest.mark.parametrize("member_count", range(2, 8))
def test_any_t_releases_open_the_sum(member_count: int) -> None:
    total, releases = released(member_count, party_count=9, seed=member_count)
    threshold = threshold_of(member_count)
    for size in range(threshold, member_count + 1):
        for points in combinations(releases, size):
            opened, wrong = open_sum({x: releases[x] for x in points}, threshold, 9, DEGREE)
            assert np.array_equal(opened, total)
            assert wrong == ()


def test_the_largest_sum_of_the_most_addends_opens() -> None:
    total = np.array([21 * MAX_ADDENDS, -21 * MAX_ADDENDS], dtype=np.int32)
    shares = share_secret(total, 3, 3)
    opened, _ = open_sum({x: shares[x - 1, :2] for x in (1, 2, 3)}, 3, MAX_ADDENDS, 2)
    assert np.array_equal(opened, total)
    with pytest.raises(InputError):
        open_sum({x: shares[x - 1, :2] for x in (1, 2, 3)}, 3, MAX_ADDENDS + 1, 2)


def test_a_sum_of_200_parties_adds_up() -> None:
    total, releases = released(7, party_count=200, seed=5)
    assert np.array_equal(open_sum(releases, 5, 200, DEGREE)[0], total)


def test_too_few_releases_open_nothing() -> None:
    _, releases = released(7, 7, seed=6)
    with pytest.raises(ProtocolError, match="too few members"):
        open_sum({x: releases[x] for x in (1, 2, 3, 4)}, 5, 7, DEGREE)


@pytest.mark.parametrize("member_count", [4, 5, 6, 7])
def test_a_wrong_release_is_named_where_there_is_one_to_spare(member_count: int) -> None:
    threshold = threshold_of(member_count)
    total, releases = released(member_count, party_count=5, seed=20 + member_count)
    for size in range(threshold + 1, member_count + 1):
        for liar in range(1, size + 1):
            given = {x: releases[x] for x in range(1, size + 1)}
            given[liar] = np.random.default_rng(liar).integers(0, PRIME, DEGREE).astype(np.uint16)
            opened, wrong = open_sum(given, threshold, 5, DEGREE)
            assert np.array_equal(opened, total)
            assert wrong == (liar,)


def test_two_wrong_releases_of_seven_are_named() -> None:
    total, releases = released(7, 5, seed=31)
    for liars in combinations(range(1, 8), 2):
        given = releases | {x: np.random.default_rng(x).integers(0, PRIME, DEGREE).astype(np.uint16) for x in liars}
        opened, wrong = open_sum(given, 5, 5, DEGREE)
        assert np.array_equal(opened, total)
        assert wrong == liars


@pytest.mark.parametrize("bad", [None, np.zeros(3, np.uint16), np.full(DEGREE, PRIME, np.uint16), np.zeros(DEGREE)])
def test_a_malformed_release_is_named(bad: Any) -> None:
    total, releases = released(5, 5, seed=32)
    opened, wrong = open_sum(releases | {2: bad}, 4, 5, DEGREE)
    assert np.array_equal(opened, total)
    assert wrong == (2,)


def test_a_wrong_release_with_none_to_spare_is_caught_and_not_named() -> None:
    _, releases = released(3, 5, seed=33)
    given = releases | {3: np.random.default_rng(3).integers(0, PRIME, DEGREE).astype(np.uint16)}
    with pytest.raises(ProtocolError, match="whose cannot be told"):
        open_sum(given, 3, 5, DEGREE)


def test_too_many_wrong_releases_are_caught() -> None:
    _, releases = released(7, 5, seed=34)
    given = releases | {x: altered(releases[x], 1000 + 37 * x, where=x) for x in (1, 2, 3)}
    with pytest.raises(ProtocolError, match="fewer than 5 right ones among 7"):
        open_sum(given, 5, 5, DEGREE)


def test_a_release_shaped_to_hold_the_bound_is_not_taken_for_the_truth() -> None:
    """One member of four moves S by one, within the bound: two sums are possible, so none is taken."""
    total, releases = released(4, 5, seed=35)
    weight = int(evaluate_at((1, 2, 4), np.array([[0], [0], [1]], np.uint16), (0,))[0, 0])
    given = releases | {4: altered(releases[4], pow(weight, -1, PRIME), where=int(np.argmin(np.abs(total))))}
    with pytest.raises(ProtocolError, match="several: wrong is member"):
        open_sum(given, 3, 5, DEGREE)


def test_two_colluding_members_never_have_an_honest_one_named() -> None:
    """They fit their releases to four honest ones, so that six of seven agree on a false sum within the bound."""
    total, releases = released(7, 5, seed=36)
    shift = np.zeros((5, DEGREE), np.uint16)
    shift[4, int(np.argmin(np.abs(total)))] = 1  # zero at the points 1 to 4, one at 0
    shifted = evaluate_at((1, 2, 3, 4, 0), shift, (6, 7))
    given = {x: releases[x] for x in range(1, 6)} | {
        x: to_field(releases[x].astype(np.int64) + shifted[x - 6]) for x in (6, 7)
    }
    with pytest.raises(ProtocolError, match="several"):
        open_sum(given, 5, 5, DEGREE)


@pytest.mark.parametrize("party_count", [3, 5, 9])
def test_a_whole_round_opens_the_sum_of_the_secrets(
    make_round: Callable[..., Any], party_count: int, tmp_path: Path
) -> None:
    this = make_round(party_count, seed=60 + party_count)
    answers, threshold = this.answers(), this.committee.threshold
    verdict = judge_dealers(this.parties, answers, answers[1].challenge_digest, threshold)
    included = this.included(verdict.usable[: this.committee.least_included])
    sums = {
        this.committee.point_of(name): this.release(name, included, ReleaseRecord.create(tmp_path / name))
        for name in this.committee.members
    }
    opened, wrong = open_sum(sums, threshold, len(included.uploads), len(next(iter(sums.values()))))
    assert np.array_equal(opened, this.sum_of_secrets(included.parties))
    assert wrong == ()


def test_a_dealing_shows_no_shares(make_round: Callable[..., Any]) -> None:
    this = make_round(3, seed=41)
    dealing = this.dealings["party-0"]
    assert "messages" not in repr(dealing)
    assert "secret" in repr(this.draw_keys())
    assert len(set(dealing.digests)) == len(this.committee.members)
