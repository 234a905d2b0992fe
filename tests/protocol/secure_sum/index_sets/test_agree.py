"""Sets of coordinates, agreed on in each of the three ways."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hekat.privacy.mask import Mask
from hekat.protocol.secure_sum.aggregation import Alone
from hekat.protocol.secure_sum.index_sets.agree import IndexSets, kept_count
from hekat.protocol.secure_sum.index_sets.gather import put_kept, take_kept
from hekat.protocol.secure_sum.index_sets.settings import WAYS, KeepSettings
from hekat.protocol.secure_sum.settings import SumSettings

SUMS = SumSettings(("a", "b", "c"), "hub", weight_max=100)
SHAPES = {"w": (50, 31), "b": (50,), "c": ()}


class Agreeing(Alone):
    """Keeps the digests that are agreed on."""

    def __init__(self) -> None:
        self.digests: list[bytes] = []

    def agree_on(self, digest: bytes) -> None:
        self.digests.append(digest)


def sets(by: str, share: float = 0.1, job: bytes = bytes(32), key: bytes = b"key") -> IndexSets:
    return IndexSets(replace(SUMS, keep=KeepSettings(share, by)), job, key)  # type: ignore[arg-type]


def values(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=shape) for name, shape in SHAPES.items()}


def seen() -> dict[str, np.ndarray]:
    return {name: np.zeros(shape) for name, shape in SHAPES.items()}


@pytest.mark.parametrize("by", WAYS)
def test_all_parties_agree_on_as_many_values_as_the_job_says(by) -> None:
    masks = [sets(by).agree(Agreeing(), "round-1", values(2), seen()) for _ in range(2)]
    assert masks[0] == masks[1]
    count = kept_count(masks[0].value_count, 0.1)
    assert masks[0].chosen_count == (3 * 64 + 1601 % 64 if by == "vote" else count)
    others = [
        sets(by).agree(Agreeing(), "round-2", values(2), seen()),
        sets(by, job=bytes(31) + b"1").agree(Agreeing(), "round-1", values(2), seen()),
    ]
    assert all(other == masks[0] for other in others) is (by == "vote")


@pytest.mark.parametrize("by", ["top_k", "random_k"])
def test_own_values_do_not_choose(by) -> None:
    assert sets(by).agree(Agreeing(), "round-1", values(2), seen()) == sets(by).agree(
        Agreeing(), "round-1", values(3), seen()
    )


def test_a_vote_chooses_the_blocks_with_the_most_energy() -> None:
    own = values(2)
    own["w"][20:25] *= 100
    mask = sets("vote").agree(Agreeing(), "round-1", own, seen())
    inside = np.zeros((50, 31), dtype=bool)
    inside[20:25] = True
    assert mask.chosen("w")[inside.ravel()].mean() > 0.7


def test_values_that_were_large_in_sums_are_sent_again_beside_random_ones() -> None:
    state, way = seen(), sets("top_k")
    first = way.agree(Agreeing(), "round-1", values(2), state)
    rising = {name: np.arange(v.size, dtype=float).reshape(v.shape) for name, v in state.items()}
    way.learn(state, first, take_kept(first, rising))
    assert (state["w"].ravel()[~first.chosen("w")] == 0).all()
    second = way.agree(Agreeing(), "round-2", values(2), state)
    count = first.chosen_count
    largest = np.argsort(state["w"].ravel())[-(count // 2) :]
    assert second.chosen("w")[largest].all()
    assert second.chosen_count == count
    # A value that is not seen again keeps its place; one that is seen counts half.
    before = state["w"].copy()
    way.learn(state, second, take_kept(second, seen()))
    chosen = second.chosen("w").reshape(50, 31)
    assert np.array_equal(state["w"][chosen], before[chosen] / 2)
    assert np.array_equal(state["w"][~chosen], before[~chosen])


def test_the_agreement_is_keyed_and_differs_for_another_set() -> None:
    told = Agreeing()
    sets("random_k").agree(told, "round-1", values(2), seen())
    sets("random_k").agree(told, "round-2", values(2), seen())
    sets("random_k", key=b"other").agree(told, "round-1", values(2), seen())
    sets("random_k").agree(told, "round-1", values(2), seen())
    assert len(set(told.digests)) == 3
    assert told.digests[0] == told.digests[3]


def test_what_is_taken_is_put_back() -> None:
    own, base = values(4), values(5)
    mask = Mask.from_arrays({name: v > 0 for name, v in own.items() if name != "c"})
    whole = put_kept(mask, take_kept(mask, own), base)
    for name in ("w", "b"):
        assert np.array_equal(whole[name], np.where(own[name] > 0, own[name], base[name]))
    assert whole["c"] is own["c"]
    assert np.array_equal(base["w"], values(5)["w"])


@pytest.mark.parametrize(("share", "count"), [(1.0, 1000), (0.0501, 51), (1e-9, 1), (0.999999, 1000)])
def test_shares_are_rounded_up(share, count) -> None:
    assert kept_count(1000, share) == count
