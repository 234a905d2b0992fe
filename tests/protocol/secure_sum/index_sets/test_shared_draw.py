"""Subsets that all parties draw alike: known answers, every size, and no subset likelier than another."""

from __future__ import annotations

import hashlib
from itertools import combinations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from hekat.protocol.secure_sum.index_sets import shared_draw
from hekat.protocol.secure_sum.index_sets.shared_draw import draw_subset, seed_of

SEED = bytes(range(32))


def draw_one_by_one(seed: bytes, among: int, count: int) -> list[int]:
    """The specification, word by word."""
    if count > among - count:
        left_out = draw_one_by_one(seed, among, among - count)
        return [place for place in range(among) if place not in left_out]
    stream = Cipher(ChaCha20(seed, bytes(16)), mode=None).encryptor()
    found: set[int] = set()
    while len(found) < count:
        word = int.from_bytes(stream.update(bytes(8)), "little")
        if word < 2**64 // among * among:
            found.add(word % among)
    return sorted(found)


def test_known_answers() -> None:
    """The example of docs/spec/index-sets.md, and a larger draw, computed word by word."""
    seed = seed_of(hashlib.sha256(b"a job").digest(), "round-1")
    assert seed.hex() == "0419b054b364adab70f4cb8ed8371d08ac69a7d34cd65848e984e2c2adc776ae"
    assert draw_subset(seed, 1000, 5).tolist() == [114, 658, 767, 872, 880]
    assert draw_subset(seed, 10, 7).tolist() == [1, 3, 4, 5, 6, 8, 9]
    digest = hashlib.sha256(draw_subset(seed, 100_000, 5000).astype("<i8").tobytes()).hexdigest()
    assert digest == "f823fde5a3c207481f943b215196693d3e4c4bb68c229f5fb4d9178109c5acfb"


@pytest.mark.parametrize(
    ("among", "count"), [(0, 0), (1, 0), (1, 1), (3, 2), (7, 3), (7, 4), (64, 64), (1000, 17), (1000, 990)]
)
def test_the_draw_is_the_specified_one(among, count) -> None:
    drawn = draw_subset(SEED, among, count)
    assert drawn.tolist() == draw_one_by_one(SEED, among, count)
    assert drawn.dtype == np.int64


@pytest.mark.parametrize("words", [1, 3, 500])
def test_how_many_words_are_taken_at_once_changes_nothing(words, monkeypatch) -> None:
    expected = draw_subset(SEED, 300, 120)
    monkeypatch.setattr(shared_draw, "_LEAST_WORDS", words)
    places = shared_draw._places
    monkeypatch.setattr(shared_draw, "_places", lambda seed, among, about: places(seed, among, 0))
    assert np.array_equal(draw_subset(SEED, 300, 120), expected)


def test_every_subset_is_as_likely_as_any_other() -> None:
    """10 subsets of 5 places, 8,000 draws under seeds 0 to 7,999: chi-square of 9 degrees is below 66 but for once
    in 10^10."""
    draws = 8_000
    counts = dict.fromkeys(combinations(range(5), 2), 0)
    for number in range(draws):
        counts[tuple(draw_subset(number.to_bytes(32, "big"), 5, 2).tolist())] += 1
    expected = draws / len(counts)
    assert sum((count - expected) ** 2 / expected for count in counts.values()) < 66


def test_every_step_and_job_has_a_seed_of_its_own() -> None:
    jobs, steps = (bytes(32), bytes(31) + b"1"), ("round-1", "round-11", "fold-1/round-1")
    seeds = {seed_of(job, step) for job in jobs for step in steps}
    assert len(seeds) == 6
