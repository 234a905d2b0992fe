"""Votes for blocks: whom a party votes for, and counts that come back whole from packed digits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from hekat.codec import level_bound
from hekat.protocol.secure_sum.aggregation import Aggregate, Alone, SumRequest
from hekat.protocol.secure_sum.index_sets.votes import (
    BLOCK_VALUES,
    VOTES,
    block_count,
    count_votes,
    digits_of,
    largest,
    vote,
    votes_step,
    wanted_blocks,
)
from hekat.protocol.secure_sum.settings import CodecSettings, SumSettings

PARTIES = tuple(f"p{number}" for number in range(5))
SUMS = SumSettings(PARTIES, "hub", weight_max=100)


@dataclass
class WithOthers(Alone):
    """A sum with what others sent in the same step."""

    others: list[Any] = field(default_factory=list)

    def weighted_mean(self, request: SumRequest) -> Aggregate:
        own = request.tensors[VOTES]
        assert isinstance(own, np.ndarray)
        sums = {VOTES: own + sum(self.others)}
        count = 1 + len(self.others)
        return Aggregate({}, count, {}, count, sums=sums)


class Kept(Alone):
    """Keeps what was sent."""

    def weighted_mean(self, request: SumRequest) -> Aggregate:
        assert request.step == votes_step("round-3")
        self.sent = request.tensors[VOTES]
        return super().weighted_mean(request)


def energies_of(values: dict[str, np.ndarray]) -> np.ndarray:
    flat = np.concatenate([values[name].ravel() for name in sorted(values)])
    whole = flat[: flat.size // BLOCK_VALUES * BLOCK_VALUES].reshape(-1, BLOCK_VALUES)
    return (whole.astype(np.float64) ** 2).sum(axis=1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_party_votes_for_the_blocks_with_the_most_energy(dtype) -> None:
    """Seed 5; blocks run on from tensor to tensor, and pieces end within blocks."""
    rng = np.random.default_rng(5)
    values = {"b": rng.normal(size=(333, 211)).astype(dtype), "a": rng.normal(size=17).astype(dtype), "c": np.ones(3)}
    ballot = vote(values, 20)
    energies = energies_of(values)
    assert ballot.size == energies.size == block_count(333 * 211 + 20)
    assert set(np.flatnonzero(ballot)) == set(np.argsort(energies)[-20:])


def test_blocks_without_any_energy_get_no_vote() -> None:
    values = {"w": np.zeros(4 * BLOCK_VALUES)}
    values["w"][BLOCK_VALUES] = 1e-30
    assert vote(values, 3).tolist() == [False, True, False, False]


@pytest.mark.parametrize("bits", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize("blocks", [0, 1, 1000])
def test_counts_come_back_whole(bits, blocks) -> None:
    """Seed 7: five parties' ballots, each packed by itself, and added up as integers."""
    rng = np.random.default_rng(7)
    sums = replace(SUMS, codec=CodecSettings(value_bits=bits))
    ballots = rng.random((5, blocks)) < 0.6
    ballots[:, : blocks // 3] = True
    sent = []
    for ballot in ballots:
        kept = Kept()
        own = count_votes(kept, "round-3", ballot, sums)
        assert np.array_equal(own, ballot)
        sent.append(kept.sent)
    assert max(int(one.max()) for one in sent) <= level_bound(bits)
    counts = count_votes(WithOthers(sent[1:]), "round-3", ballots[0], sums)
    assert np.array_equal(counts, ballots.sum(axis=0))


@pytest.mark.parametrize(("level", "base", "digits"), [(1, 4, 1), (4, 4, 1), (5, 4, 2), (32767, 6, 6), (32767, 201, 2)])
def test_as_many_votes_as_fit_are_in_one_integer(level, base, digits) -> None:
    assert digits_of(level, base) == digits
    assert sum(base**power for power in range(digits)) <= level < sum(base**power for power in range(digits + 1))


def test_the_first_of_equal_scores_are_taken() -> None:
    assert sorted(largest(np.array([1.0, 3.0, 3.0, 0.0, 3.0]), 2)) == [1, 2]
    assert largest(np.array([1.0]), 0).size == 0


@pytest.mark.parametrize(
    ("values", "kept", "wanted"), [(10, 3, 0), (64, 1, 1), (301, 61, 1), (640, 64, 1), (640, 65, 2), (641, 641, 10)]
)
def test_blocks_and_what_is_left_are_at_least_as_many_as_wanted(values, kept, wanted) -> None:
    assert wanted_blocks(values, kept) == wanted
    assert wanted * BLOCK_VALUES + values % BLOCK_VALUES >= kept
