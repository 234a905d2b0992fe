"""A loop does not know what it is called for next: what was dealt for another step masks nothing, and is wiped."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

from hekat.own_loop import Party
from hekat.protocol.secure_sum.masked import party as masked_party
from hekat.protocol.secure_sum.masked.messages import RunSecretsMessage
from hekat.scheme.lattice import Encryptor, keys


@pytest.fixture
def made(monkeypatch) -> list[keys.SecretKey]:
    """Every secret, in the order they are made."""
    found: list[keys.SecretKey] = []
    original = keys.SecretKey.__init__

    def spy(self: keys.SecretKey, *arguments: object) -> None:
        original(self, *arguments)
        found.append(self)

    monkeypatch.setattr(keys.SecretKey, "__init__", spy)
    return found


@pytest.fixture
def used(monkeypatch) -> list[keys.SecretKey]:
    """Every secret that something was masked with."""
    found: list[keys.SecretKey] = []

    def make(parameters: object, secret: keys.SecretKey, *others: object) -> Encryptor:
        found.append(secret)
        return Encryptor(parameters, secret, *others)

    monkeypatch.setattr(masked_party, "Encryptor", make)
    return found


@pytest.mark.parametrize("opening", ["committee", "authority", "shared"])
def test_a_secret_dealt_for_a_step_that_does_not_come_masks_nothing_and_is_wiped(
    opening, play_with, made, used
) -> None:
    def train(party: Party):
        party.aggregate({"w": np.ones(3)}, weight=1)
        # Another tensor needs a histogram of exponents first, and not the sum that was dealt for.
        return party.aggregate({"w": np.ones(3), "v": np.full(2, 2.0)}, weight=1)

    results = play_with(train, opening=opening).results
    for state in results.values():
        np.testing.assert_allclose(state["v"], 2.0, atol=1e-3)
    # Two histograms and two means at three parties; and for round 2, and for round 3, a secret that is not needed.
    assert len(used) == len({id(secret) for secret in used}) == 3 * 4
    unused = {id(secret) for secret in made} - {id(secret) for secret in used}
    assert len(unused) >= 3 * 2
    assert not any(secret.coefficients.any() for secret in made)


def test_a_loop_that_fails_between_two_sums_keeps_no_secret_that_was_dealt_ahead(play_with, made) -> None:
    def train(party: Party):
        party.aggregate({"w": np.ones(3)}, weight=1)
        raise ArithmeticError("the loop's own")

    with pytest.raises(ArithmeticError):
        play_with(train)
    assert made
    assert not any(secret.coefficients.any() for secret in made)


@pytest.mark.long
@pytest.mark.parametrize("opening", ["committee", "authority", "shared"])
def test_no_role_keeps_the_first_key_of_releases_from_which_all_later_ones_follow(opening, play_with) -> None:
    def train(party: Party) -> int:
        party.aggregate({"w": np.ones(3)}, weight=1)
        gc.collect()
        return sum(isinstance(one, RunSecretsMessage) for one in gc.get_objects())

    assert set(play_with(train, opening=opening).results.values()) == {0}


def test_after_a_sum_of_integers_no_secret_is_left_while_the_loop_goes_on(play_with, monkeypatch) -> None:
    own: dict[int, list[keys.SecretKey]] = {}
    make = keys.SecretKey._begin

    def make_and_keep(self: keys.SecretKey, *arguments: object) -> None:
        make(self, *arguments)
        own.setdefault(threading.get_ident(), []).append(self)

    monkeypatch.setattr(keys.SecretKey, "_begin", make_and_keep)

    def count(party: Party) -> tuple[int, bool]:
        party.sum({"rows": np.arange(4)}, maximum=3)
        secrets = own[threading.get_ident()]
        return len(secrets), any(secret.coefficients.any() or secret._transformed for secret in secrets)

    for made, is_left in play_with(count).results.values():
        assert made
        assert not is_left
