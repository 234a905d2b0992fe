"""Samples of parties: their size, that they are the same everywhere and favour nobody, and which a job may ask for."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekat.errors import PolicyError
from hekat.protocol.horizontal.settings import HorizontalSettings, TrainingSettings
from hekat.protocol.secure_sum.participation import Participation, draw_sample
from hekat.protocol.secure_sum.participation_settings import check_participation, sample_size_of

NAMES = tuple("abcdefghij")
DIGESTS = st.binary(min_size=32, max_size=32)


def settings_of(party_count: int, participation: float, min_parties: int = 0) -> HorizontalSettings:
    training = TrainingSettings(participation=participation, min_parties=min_parties)
    return HorizontalSettings(
        NAMES[:party_count], "hub", ("no", "yes"), 10, training=training, allow_two_parties=party_count == 2
    )


def test_the_example_of_the_specification() -> None:
    """docs/spec/participation.md, computed here with nothing of Hekat's."""
    digest = hashlib.sha256(b"a job").digest()
    names = ("northside", "lakeview", "saint-anne", "riverside", "county")

    def rank(name: str) -> bytes:
        fields = (b"hekat/participation/1", digest, b"round-1", name.encode())
        return hashlib.sha256(
            len(fields).to_bytes(2, "big") + b"".join(len(field).to_bytes(4, "big") + field for field in fields)
        ).digest()

    wanted = set(sorted(names, key=rank)[:3])
    assert draw_sample(names, 3, digest, "round-1") == tuple(name for name in names if name in wanted)
    assert draw_sample(names, 3, digest, "round-1") == ("saint-anne", "riverside", "county")


@given(DIGESTS, st.integers(3, 10), st.integers(1, 10**6), st.data())
def test_a_sample_has_its_size_and_is_the_same_for_everybody(digest, party_count, number, data) -> None:
    size = data.draw(st.integers(3, party_count))
    names, group = NAMES[:party_count], f"round-{number}"
    sample = draw_sample(names, size, digest, group)
    assert len(sample) == size
    assert sample == tuple(name for name in names if name in set(sample))
    order = data.draw(st.permutations(names))
    assert set(draw_sample(order, size, digest, group)) == set(sample)


def test_all_sums_of_a_round_are_of_its_sample_and_the_others_of_all_parties() -> None:
    samples = Participation(settings_of(10, 0.5).sums, bytes(32))
    first = samples.parties_in("round-1")
    assert len(first) == 5
    assert samples.parties_in("round-1/exponents") == samples.parties_in("round-1/range") == first
    for step in ("standardise/mean", "scaffold/rows", "validation/final"):
        assert samples.parties_in(step) == NAMES
    assert len({samples.parties_in(f"round-{number}") for number in range(1, 20)}) > 10
    assert Participation(settings_of(10, 0.5).sums, b"\1" * 32).parties_in("round-1") != first


def test_with_participation_1_every_round_has_all_parties() -> None:
    samples = Participation(settings_of(7, 1.0).sums, b"")
    assert samples.parties_in("round-3") == NAMES[:7]
    assert [samples.least_in(step) for step in ("round-3", "standardise/mean")] == [5, 5]


@pytest.mark.parametrize("seed", range(5))
def test_over_many_rounds_no_party_and_no_pair_is_favoured(seed) -> None:
    """4000 rounds of 4 in 10: a party is in 1600 on average (deviation 31), a pair in 533 (21); allowed are six."""
    digest, rounds = hashlib.sha256(bytes([seed])).digest(), 4000
    together = np.zeros((10, 10), dtype=np.int64)
    for number in range(rounds):
        chosen = [NAMES.index(name) for name in draw_sample(NAMES, 4, digest, f"round-{number}")]
        together[np.ix_(chosen, chosen)] += 1
    alone = np.diag(together)
    assert np.abs(alone - rounds * 0.4).max() < 6 * (rounds * 0.4 * 0.6) ** 0.5
    pairs, chance = together[~np.eye(10, dtype=bool)], 4 * 3 / 90
    assert np.abs(pairs - rounds * chance).max() < 6 * (rounds * chance * (1 - chance)) ** 0.5


def test_one_round_tells_nothing_of_the_next() -> None:
    """A party that is sampled is in the next round's sample as often as any: 4000 rounds of 5 in 10."""
    digest = hashlib.sha256(b"next").digest()
    chosen = np.array(
        [[name in draw_sample(NAMES, 5, digest, f"round-{number}") for name in NAMES] for number in range(4000)]
    )
    both = (chosen[:-1] & chosen[1:]).mean(axis=0)
    assert np.abs(both - 0.25).max() < 6 * (0.25 * 0.75 / 3999) ** 0.5


@pytest.mark.parametrize(
    ("participation", "party_count", "size"),
    [(0.1, 30, 3), (0.7, 10, 7), (0.5, 7, 4), (0.3, 10, 3), (1.0, 5, 5), (1e-3, 5, 1), (0.35, 200, 70), (2 / 3, 9, 6)],
)
def test_a_fraction_counts_as_it_is_written(participation, party_count, size) -> None:
    """0.1 * 30 and 0.7 * 10 are a little above 3 and 7 in binary; that is no fourth and no eighth party."""
    assert sample_size_of(participation, party_count) == size


@pytest.mark.parametrize(
    ("party_count", "participation", "min_parties", "least"),
    [(10, 0.5, 0, 4), (10, 0.5, 5, 5), (10, 0.3, 0, 3), (5, 0.8, 0, 3), (5, 1.0, 5, 5), (5, 1.0, 0, 4), (2, 1.0, 0, 2)],
)
def test_the_least_number_of_updates_in_a_sum(party_count, participation, min_parties, least) -> None:
    samples = Participation(settings_of(party_count, participation, min_parties).sums, bytes(32))
    assert samples.least_in("round-1") == least


@pytest.mark.parametrize("party_count", range(2, 40))
def test_a_sample_that_is_too_small_is_refused_with_a_fraction_that_works(party_count) -> None:
    for min_parties in range(party_count + 1):
        least = max(min(3, party_count), min_parties)
        if least == 1:
            continue
        with pytest.raises(PolicyError) as caught:
            check_participation((least - 1) / party_count - 1e-6, min_parties, party_count)
        fraction = float(str(caught.value.expected).split(" ")[0])
        assert sample_size_of(fraction, party_count) == least
        check_participation(fraction, min_parties, party_count)
        assert ("min_parties" in str(caught.value.cure)) == (min_parties > min(3, party_count))


@pytest.mark.parametrize("participation", [0.0, -0.5, 1.5, float("nan"), float("inf")])
def test_what_is_no_fraction_is_refused(participation) -> None:
    with pytest.raises(PolicyError, match="participation"):
        settings_of(5, participation)


@pytest.mark.parametrize("min_parties", [-1, 6])
def test_min_parties_is_a_number_of_parties(min_parties) -> None:
    with pytest.raises(PolicyError, match=r"min_parties.*0 to 5"):
        settings_of(5, 1.0, min_parties)


@pytest.mark.parametrize("protection", ["lattice", "paillier", "none"])
def test_no_protection_takes_samples_of_two(protection) -> None:
    settings = replace(settings_of(5, 1.0), protection=protection)
    with pytest.raises(PolicyError, match=r"0\.6 or more, 3 of 5 parties"):
        replace(settings, training=TrainingSettings(participation=0.4))
