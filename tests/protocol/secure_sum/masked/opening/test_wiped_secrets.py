"""What is made of a secret on the way, and needed no more, is written over: polynomials, shares, sums, releases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hekat.protocol.secure_sum.masked.opening import committee, shamir


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`seen(module, name, place)`: what that function was given at that place (-1: what it returned), with its values
    of then."""

    def watch(module: Any, name: str, place: int) -> list[tuple[np.ndarray, np.ndarray]]:
        kept: list[tuple[np.ndarray, np.ndarray]] = []
        function = getattr(module, name)

        def watched(*arguments: Any) -> Any:
            result = function(*arguments)
            array = result if place < 0 else arguments[place]
            kept.append((array, np.array(array)))
            return result

        monkeypatch.setattr(module, name, watched)
        return kept

    return watch


def check_wiped(kept: list[tuple[np.ndarray, np.ndarray]]) -> None:
    assert kept
    for array, before in kept:
        assert before.any(), "there was something to wipe"
        assert not array.any()


def test_the_numbers_that_hide_a_secret_and_their_sum(seen: Any, make_round: Any) -> None:
    numbers, pads = seen(committee, "expand_keys", -1), seen(shamir, "reduce_wide", 0)
    this = make_round(5, seed=91)
    assert len(this.dealings) == len(numbers) == 5
    check_wiped(numbers)
    check_wiped(pads[::2])


def test_the_numbers_of_which_a_share_is_made(seen: Any, make_round: Any) -> None:
    this = make_round(5, seed=93)
    assert this.dealings
    numbers = seen(committee, "expand_keys", -1)
    assert all(share.any() for share in this.keep("party-1").values())
    assert len(numbers) == 5
    check_wiped(numbers)


def test_keys_once_the_session_ends(make_round: Any) -> None:
    keys = make_round(5, seed=94).draw_keys()
    assert any(keys.as_bytes)
    keys.wipe()
    assert not any(keys.as_bytes)


def test_the_sums_of_shares_and_what_opens_them(seen: Any, make_round: Any) -> None:
    this = make_round(5, seed=92)
    sums = seen(committee, "reduce_wide", 0)
    releases = {
        this.committee.point_of(member): this.sum_kept(member, this.included()) for member in this.committee.members
    }
    check_wiped(sums)
    opened = seen(committee, "_bounded_polynomials", 1)
    found, _ = committee.open_sum(releases, this.committee.threshold, 5, this.sum_of_secrets().size)
    check_wiped(opened)
    assert np.array_equal(found, this.sum_of_secrets())
