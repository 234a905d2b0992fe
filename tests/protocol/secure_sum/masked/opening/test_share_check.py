"""Dealers whose shares lie on no polynomial are found by their check values, which show nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.protocol.secure_sum.masked.opening.sharing import random_elements, share_secret

from hekat.protocol.secure_sum.masked.opening.field import PRIME, evaluate_at, to_field
from hekat.protocol.secure_sum.masked.opening.shamir import CHECKS
from hekat.protocol.secure_sum.masked.opening.share_check import (
    challenge_digest_of,
    check_values,
    expand_challenge,
    inconsistent_dealers,
    judge_dealers,
)
from hekat.protocol.secure_sum.masked.opening.share_message import NO_SHARE, DigestList
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext

DEGREE = 48
CONTEXT = UploadContext(b"s" * 32, 3, "round-1", "A16-16")
LISTS = {"a": DigestList((b"1" * 32, b"2" * 32), b"x"), "b": DigestList((b"3" * 32, b"4" * 32), b"y")}


def by_point(challenge: Any, shares: Any) -> dict[int, Any]:
    return dict(enumerate(check_values(challenge, shares), start=1))


@pytest.mark.parametrize(("member_count", "threshold"), [(4, 3), (5, 4), (6, 5), (7, 5)])
def test_consistent_dealers_pass_and_every_altered_share_is_found(member_count: int, threshold: int) -> None:
    challenge = expand_challenge(b"c" * 32, DEGREE)
    shares = share_secret(np.zeros(DEGREE, np.int8), member_count, threshold)
    assert inconsistent_dealers({"d": by_point(challenge, shares)}, threshold) == ()
    for point in range(member_count):
        for where in (0, DEGREE - 1, DEGREE, DEGREE + CHECKS - 1):
            bad = shares.copy()
            bad[point, where] = (int(bad[point, where]) + 1) % PRIME
            values = {"d": by_point(challenge, shares), "bad": by_point(challenge, bad)}
            assert inconsistent_dealers(values, threshold) == ("bad",)


def test_a_polynomial_of_higher_degree_is_found() -> None:
    challenge = expand_challenge(b"c" * 32, DEGREE)
    shares = share_secret(np.zeros(DEGREE, np.int8), 7, 6)
    assert inconsistent_dealers({"d": by_point(challenge, shares)}, 5) == ("d",)


def test_with_no_more_than_t_values_nothing_is_found() -> None:
    challenge = expand_challenge(b"c" * 32, DEGREE)
    values = by_point(challenge, random_elements(3, DEGREE + CHECKS))
    assert inconsistent_dealers({"d": values}, 3) == ()


def test_one_challenge_number_in_65521_passes_a_wrong_share() -> None:
    """Exact, for one of the 8 vectors and a dealer who also shapes the mask: so all 8 pass with 65521^-8."""
    challenges = np.arange(PRIME, dtype=np.uint16)
    shares = share_secret(np.array([3], np.int8), 4, 3)[:, :2].astype(np.uint64)
    shares[3] += np.array([5, 123], np.uint64)  # the share, and the mask to hide it
    values = (shares[:, 1, None] + challenges[None, :].astype(np.uint64) * shares[:, 0, None]) % PRIME
    last = evaluate_at((1, 2, 3), values[:3].astype(np.uint16), (4,))[0]
    passing = challenges[last == values[3]]
    assert passing.tolist() == [(-123 * pow(5, -1, PRIME)) % PRIME]


def test_all_check_values_together_fit_every_secret() -> None:
    """For any other secret and sharing there are masks, on a polynomial of degree < t, with the same check values."""
    challenge = expand_challenge(b"c" * 32, DEGREE)
    values = check_values(challenge, share_secret(np.full(DEGREE, 21, np.int8), 7, 5))
    other = share_secret(np.full(DEGREE, -7, np.int8), 7, 5)
    other[:, DEGREE:] = 0
    products = check_values(challenge, other).astype(np.int64)
    other[:, DEGREE:] = to_field(values.astype(np.int64) - products)
    assert np.array_equal(check_values(challenge, other), values)
    masks = other[:, DEGREE:]
    for points in combinations(range(1, 8), 5):
        rows = masks[[point - 1 for point in points]]
        assert np.array_equal(evaluate_at(points, rows, range(1, 8)), masks)


def test_check_values_of_one_secret_are_uniform() -> None:
    challenge = expand_challenge(b"c" * 32, 4)
    values = np.concatenate(
        [check_values(challenge, share_secret(np.array([21, 21, 21, 21], np.int8), 7, 5)) for _ in range(1500)]
    )
    cells = np.bincount(values.ravel().astype(np.int64) * 32 // PRIME, minlength=32)
    expected = values.size / 32
    # Rows of one sharing depend on each other, so: 31 degrees of freedom, bound far above its mean of 31.
    assert float(np.sum((cells - expected) ** 2) / expected) < 200


def test_what_check_values_open_to_is_uniform_too() -> None:
    """At 0 they are the mask plus challenge times secret; t members together must not see the product there."""
    challenge = expand_challenge(b"c" * 32, 4)
    secret = np.array([21, 21, 21, 21], np.int8)
    opened = np.concatenate(
        [evaluate_at(range(1, 6), check_values(challenge, share_secret(secret, 7, 5))[:5], [0])[0] for _ in range(2000)]
    )
    cells = np.bincount(opened.astype(np.int64) * 32 // PRIME, minlength=32)
    expected = opened.size / 32
    # 31 degrees of freedom: above 200 with odds of 10^-25.
    assert float(np.sum((cells - expected) ** 2) / expected) < 200


def test_check_values_are_mask_plus_product() -> None:
    challenge = expand_challenge(b"c" * 32, DEGREE)
    shares = random_elements(2, DEGREE + CHECKS)
    expected = [
        [
            (int(row[DEGREE + k]) + sum(int(e) * int(x) for e, x in zip(challenge[k], row, strict=False))) % PRIME
            for k in range(CHECKS)
        ]
        for row in shares
    ]
    assert check_values(challenge, shares).tolist() == expected


def test_the_challenge_follows_from_session_number_and_every_digest() -> None:
    digest = challenge_digest_of(CONTEXT, LISTS)
    others = [
        challenge_digest_of(replace(CONTEXT, session_id=b"t" * 32), LISTS),
        challenge_digest_of(replace(CONTEXT, number=4), LISTS),
        challenge_digest_of(CONTEXT, {"a": LISTS["a"]}),
        challenge_digest_of(CONTEXT, {"a": LISTS["b"], "b": LISTS["a"]}),
        challenge_digest_of(CONTEXT, LISTS | {"b": DigestList((b"3" * 32, b"5" * 32), b"y")}),
    ]
    assert len({digest, *others}) == 6
    assert challenge_digest_of(CONTEXT, dict(reversed(LISTS.items()))) == digest


def test_the_expanded_challenge_stays_as_it_is() -> None:
    digest = hashlib.sha256(b"known answer").digest()
    stream = hashlib.shake_256(digest).digest(2 * (8 * 4096 + 4096))
    words = [int.from_bytes(stream[i : i + 2], "little") for i in range(0, len(stream), 2)]
    kept = [word for word in words if word < PRIME][: 8 * 4096]
    assert expand_challenge(digest, 4096).ravel().tolist() == kept
    assert len(set(words[: 8 * 4096 + 64])) > PRIME // 4


# --- an aggregator that shows different digests to different members -------------------------------------------

N, C, T, CORRUPT = 64, 7, 5, 2
HONEST = range(CORRUPT + 1, C + 1)


def rank(matrix: npt.NDArray[np.int64]) -> int:
    """The rank mod 65521."""
    matrix, found = matrix % PRIME, 0
    for column in range(matrix.shape[1]):
        rows = np.flatnonzero(matrix[found:, column])
        if not rows.size:
            continue
        matrix[[found, found + rows[0]]] = matrix[[found + rows[0], found]]
        matrix[found] = matrix[found] * pow(int(matrix[found, column]), -1, PRIME) % PRIME
        others = np.arange(len(matrix)) != found
        matrix[others] = (matrix[others] - np.outer(matrix[others, column], matrix[found])) % PRIME
        found += 1
        if found == len(matrix):
            break
    return found


def shows_the_secret(answers: list[tuple[int, bytes]]) -> bool:
    """Whether some combination of honest members' answers, each (point, challenge), depends on the secret alone.

    Two members are corrupt, so polynomials are known there: what is left of each is (x - 1)(x - 2) times one of degree
    below 3, whose value at 0 is the secret's, or the mask's. Columns: masks 8 x 3 and high parts 2 N, all uniform; then
    the N coefficients of the secret.
    """
    rows = []
    for x, digest in answers:
        challenge = expand_challenge(digest, N).astype(np.int64)
        powers = [(x - 1) * (x - 2) * x**j for j in range(T - CORRUPT)]
        for k in range(CHECKS):
            masks = np.zeros((CHECKS, T - CORRUPT), np.int64)
            masks[k] = powers
            parts = [challenge[k] * power % PRIME for power in (*powers[1:], powers[0])]
            rows.append(np.concatenate([masks.ravel(), *parts]))
    view = np.array(rows)
    return rank(view) > rank(view[:, :-N])


@pytest.mark.parametrize("challenges", ["aaaaa", "aaaab", "aaabb", "aabbc", "abbcd", "abcde", "babab"])
def test_answers_to_different_challenges_still_show_nothing_of_the_secret(challenges: str) -> None:
    assert not shows_the_secret([(x, letter.encode()) for x, letter in zip(HONEST, challenges, strict=True)])


def test_two_answers_of_each_member_would_show_it() -> None:
    """Why a member answers once: this is the control that the test above can fail."""
    assert shows_the_secret([(x, digest) for x in HONEST for digest in (b"a", b"b")])


# --- verdicts ------------------------------------------------------------------------------------------------


def test_honest_answers_make_every_dealer_usable(make_round: Callable[..., Any]) -> None:
    this = make_round(9, seed=50)
    answers = this.answers()
    verdict = judge_dealers(this.parties, answers, answers[1].challenge_digest, this.committee.threshold)
    assert verdict.usable == this.parties
    assert (verdict.refused, verdict.faulty_members, verdict.checked) == ({}, {}, True)


def test_with_three_members_the_verdict_says_that_nothing_was_checked(make_round: Callable[..., Any]) -> None:
    this = make_round(3, seed=51)
    answers = this.answers()
    verdict = judge_dealers(this.parties, answers, answers[1].challenge_digest, this.committee.threshold)
    assert verdict.usable == this.parties
    assert not verdict.checked


def test_values_that_travelled_as_wide_words_are_judged_alike(make_round: Callable[..., Any]) -> None:
    this = make_round(5, seed=52)
    answers = this.answers()
    wide = {x: replace(a, values={d: v.astype(np.uint64) for d, v in a.values.items()}) for x, a in answers.items()}
    assert judge_dealers(this.parties, wide, answers[1].challenge_digest, 4).usable == this.parties
    wide[2].values["party-0"] += np.uint64(1 << 16)  # would be right again if cut to 16 bits
    verdict = judge_dealers(this.parties, wide, answers[1].challenge_digest, 4)
    assert verdict.faulty_members == {2: "gave malformed check values"}


def test_an_inconsistent_dealer_and_a_refused_one_are_left_out_by_name(make_round: Callable[..., Any]) -> None:
    this = make_round(7, seed=53)
    answers = this.answers()
    shift(answers[3].values["party-4"], 1)
    answers[6].refused["party-2"] = NO_SHARE
    del answers[6].values["party-2"]
    verdict = judge_dealers(this.parties, answers, answers[1].challenge_digest, 5)
    assert verdict.usable == ("party-0", "party-1", "party-3", "party-5", "party-6")
    assert verdict.refused == {
        "party-2": "member 6: no share came",
        "party-4": "what members answer of its shares lies on no polynomial",
    }
    assert verdict.faulty_members == {}


@pytest.mark.parametrize("lies_about", [("party-1", "party-4"), ("party-0", "party-1", "party-2", "party-6")])
def test_a_member_that_lies_about_several_dealers_is_named_and_they_are_not(
    lies_about: tuple[str, ...], make_round: Callable[..., Any]
) -> None:
    this = make_round(7, seed=55)
    answers = this.answers()
    for dealer in lies_about:
        shift(answers[3].values[dealer], 1)
    answers[3].refused["party-3"] = NO_SHARE
    del answers[3].values["party-3"]
    verdict = judge_dealers(this.parties, answers, answers[1].challenge_digest, 5)
    assert verdict.usable == this.parties
    assert verdict.refused == {}
    assert verdict.faulty_members == {3: "gave check values that fit no others"}
    assert verdict.checked


@pytest.mark.parametrize(("member_count", "threshold", "lies"), [(5, 4, {3: 1}), (7, 5, {3: 1, 6: 1000})])
def test_who_lies_cannot_be_told_without_answers_to_spare(
    member_count: int, threshold: int, lies: dict[int, int], make_round: Callable[..., Any]
) -> None:
    this = make_round(member_count, seed=56)
    answers = this.answers()
    for liar, by in lies.items():
        for dealer in ("party-1", "party-2"):
            shift(answers[liar].values[dealer], by)
    verdict = judge_dealers(this.parties, answers, answers[1].challenge_digest, threshold)
    assert set(verdict.refused) == {"party-1", "party-2"}
    assert verdict.faulty_members == {}


def test_two_that_lie_together_can_have_a_third_member_blamed(make_round: Callable[..., Any]) -> None:
    """Seven values of degree < 5 tell one error apart, not two: equal ones at 3 and 6 look like one at 1.

    For lambda_x = 1 / product of (x - y) over the six other than 1, lambda_3 = -lambda_6. docs/spec/committee.md says
    that this stops rounds and shows nothing.
    """
    this = make_round(7, seed=57)
    answers = this.answers()
    for liar in (3, 6):
        for dealer in ("party-1", "party-2"):
            shift(answers[liar].values[dealer], 1)
    verdict = judge_dealers(this.parties, answers, answers[1].challenge_digest, 5)
    assert verdict.usable == this.parties
    assert set(verdict.faulty_members) == {1}


def shift(values: Any, by: int) -> None:
    """Alter one check value by the same amount mod p, whatever it is: uniform values make a flipped bit +1 or -1."""
    values[5] = (int(values[5]) + by) % PRIME


def test_members_whose_answers_are_no_answers_do_not_count(make_round: Callable[..., Any]) -> None:
    this = make_round(7, seed=54)
    answers = this.answers()
    digest = answers[1].challenge_digest
    spoilt = {
        1: replace(answers[1], challenge_digest=b"o" * 32),
        2: replace(answers[2], values={}),
        3: replace(answers[3], values=answers[3].values | {"party-0": np.zeros(7, np.uint16)}),
        4: replace(
            answers[4],
            refused={"party-0": "\x1b[2J"},
            values={d: v for d, v in answers[4].values.items() if d != "party-0"},
        ),
        5: replace(answers[5], refused={"party-0": NO_SHARE}),
    }
    for point, answer in spoilt.items():
        verdict = judge_dealers(this.parties, answers | {point: answer}, digest, 5)
        assert set(verdict.faulty_members) == {point}
        assert verdict.usable == this.parties
