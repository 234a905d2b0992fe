"""Parameter sets: the published figures, exactness to the last unit, and what is refused."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from itertools import islice

import gmpy2
import pytest

from hekat.engine.ring.parameters import MaskFormat, Ring
from hekat.errors import BoundError, InputError, KeyRefusedError
from hekat.scheme.lattice import SETS, LatticeParameters, choose_parameters, make_parameters

# Name: value bits, parties, N, primes, k, l, Delta, d, d2, upload and download bits a value.
PUBLISHED = {
    "A8-32": (8, 32, 2048, (1125899906826241,), 3, 13, 2047, 4, 7, 15.33, 14.33),
    "A8-128": (8, 128, 2048, (35184372060161,), 2, 15, 32767, 7, 13, 19.0, 16.0),
    "A16-16": (16, 16, 2048, (1125899906826241,), 2, 20, 1023, 4, 6, 23.0, 22.0),
    "A16-128": (16, 128, 2048, (274877820929,), 1, 23, 32767, 7, 13, 31.0, 25.0),
    "C16-128": (16, 128, 4096, (4398046486529, 4398046240769), 3, 23, 32767, 7, 13, 25.67, 23.67),
    "A24-128": (24, 128, 2048, (70368744067073,), 1, 31, 32767, 7, 13, 39.0, 33.0),
    "C24-128": (24, 128, 4096, (549755731969, 274877816833), 2, 31, 32767, 7, 13, 35.0, 32.0),
    "A32-32": (32, 32, 2048, (1125899906826241,), 1, 37, 8191, 7, 11, 43.0, 39.0),
    "C32-128": (32, 128, 4096, (140737488273409, 70368743669761), 2, 39, 32767, 7, 13, 43.0, 40.0),
    "A16-256": (16, 256, 2048, (1099511590913,), 1, 24, 65535, 7, 14, 33.0, 26.0),
    "C16-256": (16, 256, 4096, (17592186028033, 17592185659393), 3, 24, 65535, 7, 14, 27.0, 24.67),
    # Beyond the published table, by the same rules.
    "A8-4": (8, 4, 2048, (1125899906826241,), 4, 10, 1023, 7, 8, 10.75, 10.5),
    "A16-4": (16, 4, 2048, (70368744067073,), 2, 18, 1023, 7, 8, 19.5, 19.0),
    "A24-4": (24, 4, 2048, (68719464449,), 1, 26, 1023, 7, 8, 29.0, 28.0),
    "A32-4": (32, 4, 2048, (17592186028033,), 1, 34, 1023, 7, 8, 37.0, 36.0),
    "C8-256": (8, 256, 4096, (281474976694273, 281474976636929), 5, 16, 65535, 7, 14, 17.8, 16.4),
    "A24-256": (24, 256, 2048, (281474976694273,), 1, 32, 65535, 7, 14, 41.0, 34.0),
    "C24-256": (24, 256, 4096, (1099511480321, 1099511390209), 2, 32, 65535, 7, 14, 36.5, 33.0),
    "C32-256": (32, 256, 4096, (281474976694273, 281474976636929), 2, 40, 65535, 7, 14, 44.5, 41.0),
}


def test_every_set_is_published():
    assert SETS.keys() == PUBLISHED.keys()


@pytest.mark.parametrize("name", PUBLISHED)
def test_sets_have_the_published_figures(name):
    parameters = SETS[name]
    bits, parties, degree, primes, slots, slot_bits, delta, dropped, sum_dropped, up, down = PUBLISHED[name]
    form = parameters.form
    assert parameters.name == name
    assert (parameters.value_bits, parameters.max_parties, parameters.level) == (bits, parties, 2 ** (bits - 1) - 1)
    assert (form.ring.degree, form.ring.primes) == (degree, primes)
    assert (form.slots, form.slot_bits, form.delta) == (slots, slot_bits, delta)
    assert (form.dropped_bits, form.sum_dropped_bits) == (dropped, sum_dropped)
    assert round(parameters.upload_bits, 2) == up
    assert round(parameters.download_bits, 2) == down
    assert 2 * (parties * (21 + 2 ** (dropped - 1)) + 2 ** (sum_dropped - 1)) == 2 * parameters.noise_bound < delta
    assert not parameters.unsafe
    assert "UNSAFE" not in repr(parameters)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_full_chunk_takes_the_published_bits(name):
    parameters = SETS[name]
    form = parameters.form
    count = 3 * form.values_per_chunk
    slots = 3 * form.slots * form.ring.degree
    assert 8 * form.written_bytes(count) == round(parameters.upload_bits * slots)
    assert 8 * form.written_sum_bytes(count) == round(parameters.download_bits * slots)


@pytest.mark.parametrize("name", PUBLISHED)
def test_no_set_could_drop_another_bit(name):
    """The noise bound is what stops it, and the refusal says so; or rounding would need a bit more than q has."""
    form = SETS[name].form
    for change in ({"dropped_bits": form.dropped_bits + 1}, {"sum_dropped_bits": form.sum_dropped_bits + 1}):
        rounds_up = name == "A24-256" and "sum_dropped_bits" in change
        kind, words = (InputError, "rounded residues") if rounds_up else (BoundError, "noise could alter a sum")
        with pytest.raises(kind, match=words):
            replace(SETS[name], form=replace(form, **change))


def prime_for(delta: int, product_bits: int, degree: int) -> int:
    """A prime p = 1 mod 2N with floor(p / 2^product_bits) = delta."""
    step = 2 * degree
    start = delta << product_bits
    p = next(p for p in range(start - start % step + 1 + step, (delta + 1) << product_bits, step) if gmpy2.is_prime(p))
    assert p >> product_bits == delta
    return p


@pytest.mark.parametrize("parties", [16, 31])
@pytest.mark.parametrize(
    ("dropped", "sum_dropped", "noise_per_party", "noise_of_sum"),
    [(0, 0, 21, 0), (1, 1, 22, 1), (4, 0, 29, 0), (0, 6, 21, 32), (4, 6, 29, 32)],
)
def test_noise_is_refused_from_half_of_delta_on(parties, dropped, sum_dropped, noise_per_party, noise_of_sum):
    noise = parties * noise_per_party + noise_of_sum
    slot_bits = 20 if parties == 16 else 21
    for delta, accepted in ((2 * noise + 1, True), (2 * noise, False), (2 * noise - 1, False)):
        primes = (prime_for(delta, slot_bits, 2048),)
        arguments = ("edge", 16, parties, 2048, primes, 1, dropped, sum_dropped)
        if accepted:
            assert make_parameters(*arguments).noise_bound == noise
        else:
            with pytest.raises(BoundError, match=f"noise of up to {noise}, Delta {delta}"):
                make_parameters(*arguments)


def test_one_party_more_is_refused():
    primes = (prime_for(2 * 20 * 21 + 1, 21, 2048),)
    assert make_parameters("edge", 16, 20, 2048, primes, 1, 0, 0).max_parties == 20
    with pytest.raises(BoundError):
        make_parameters("edge", 16, 21, 2048, primes, 1, 0, 0)


@pytest.mark.parametrize(
    ("degree", "prime_bits", "slots", "safe"),
    [
        (1024, (27,), 1, True),
        (1024, (28,), 1, False),
        (1024, (50,), 4, False),
        (2048, (50,), 4, True),
        (2048, (27, 27), 4, True),
        (2048, (28, 27), 4, False),
        (2048, (50, 50), 8, False),
        (4096, (50, 50), 8, True),
        (8192, (50, 50), 8, True),
    ],
)
def test_moduli_beyond_the_security_floor_are_refused(degree, prime_bits, slots, safe):
    primes = tuple(largest_prime(bits, degree, index) for index, bits in enumerate(prime_bits))
    arguments = ("floor", 8, 3, degree, primes, slots, 0, 0)
    if safe:
        assert not make_parameters(*arguments).unsafe
        return
    with pytest.raises(KeyRefusedError, match="protects too little") as refusal:
        make_parameters(*arguments)
    assert "unsafe_for_benchmark=True" in refusal.value.cure
    allowed = make_parameters(*arguments, unsafe_for_benchmark=True)
    assert allowed.unsafe
    assert "UNSAFE" in repr(allowed)


def largest_prime(bits: int, degree: int, index: int) -> int:
    """The largest below 2^bits that is 1 mod 2N, or one of the next."""
    start = ((1 << bits) // (2 * degree) - 1) * 2 * degree + 1
    primes = (p for p in range(start, 0, -2 * degree) if gmpy2.is_prime(p))
    return next(islice(primes, index, None))


def test_slots_of_another_width_are_refused():
    good = SETS["A16-16"]
    for slot_bits in (19, 21):
        with pytest.raises(InputError, match="expected 20 bits for 16 addends of 16 bits"):
            replace(good, form=replace(good.form, slot_bits=slot_bits))


@pytest.mark.parametrize(
    "change", [{"value_bits": 1}, {"value_bits": 33}, {"max_parties": 0}, {"max_parties": (1 << 14) + 1}, {"name": ""}]
)
def test_numbers_out_of_range_are_refused(change):
    with pytest.raises(InputError, match="refused"):
        replace(SETS["A16-16"], **change)
    with pytest.raises(InputError):
        MaskFormat(Ring(2048, (1125899906826241,)), 9, 20, 4, 6)


def test_parameters_are_values():
    parameters = SETS["A16-16"]
    again = make_parameters("A16-16", 16, 16, 2048, (1125899906826241,), 2, 4, 6)
    assert again == parameters == copy.deepcopy(parameters) == pickle.loads(pickle.dumps(parameters))
    assert {again: 1}[parameters] == 1
    assert isinstance(again, LatticeParameters)
    with pytest.raises(AttributeError):
        parameters.name = "other"


@pytest.mark.parametrize(
    ("bits", "parties", "name"),
    [
        (16, 1, "A16-4"),
        (16, 4, "A16-4"),
        (16, 5, "A16-16"),
        (16, 16, "A16-16"),
        (16, 17, "C16-128"),
        (9, 128, "C16-128"),
        (16, 129, "C16-256"),
        (16, 256, "C16-256"),
        (1, 2, "A8-4"),
        (8, 5, "A8-32"),
        (8, 32, "A8-32"),
        (8, 33, "C8-256"),
        (17, 4, "A24-4"),
        (17, 5, "C24-128"),
        (24, 129, "C24-256"),
        (25, 4, "A32-4"),
        (25, 5, "A32-32"),
        (25, 32, "A32-32"),
        (32, 33, "C32-128"),
        (32, 256, "C32-256"),
    ],
)
def test_the_smallest_set_that_fits_is_chosen(bits, parties, name):
    assert choose_parameters(bits, parties) is SETS[name]


@pytest.mark.parametrize("bits", range(1, 33))
def test_whatever_is_chosen_fits_and_nothing_that_fits_is_smaller(bits):
    for parties in (1, 4, 5, 16, 17, 32, 33, 128, 129, 256):
        chosen = choose_parameters(bits, parties)
        assert chosen.value_bits >= bits
        assert chosen.max_parties >= parties
        for other in SETS.values():
            fits = other.value_bits >= bits and other.max_parties >= parties
            assert not fits or other.upload_bits >= chosen.upload_bits


@pytest.mark.parametrize(
    ("bits", "parties", "values", "degree_bytes", "name"),
    [
        (16, 200, 1000, 2, "A16-256"),
        (16, 200, 100_000, 2, "C16-256"),
        (16, 200, None, 2, "C16-256"),
        (16, 17, 1, 0, "A16-128"),
        (16, 17, 1000, 2, "A16-128"),
        (24, 5, 500, 2, "A24-128"),
        (24, 5, 1 << 20, 2, "C24-128"),
        (24, 200, 1000, 2, "A24-256"),
        (24, 200, 100_000, 2, "C24-256"),
        # No set of the smaller ring, and none of the larger one that would be smaller.
        (8, 200, 10, 2, "A16-256"),
        (32, 200, 10, 2, "C32-256"),
        (16, 5, 10, 2, "A16-16"),
        (16, 5, 1 << 20, 2, "A16-16"),
    ],
)
def test_few_values_take_the_smaller_ring(bits, parties, values, degree_bytes, name):
    assert choose_parameters(bits, parties, values, degree_bytes=degree_bytes) is SETS[name]


@pytest.mark.parametrize("degree_bytes", [0, 2])
@pytest.mark.parametrize("parties", [17, 200])
def test_of_both_rings_the_one_is_taken_in_which_less_is_sent(parties, degree_bytes):
    small, large = ((SETS[f"{family}16-{128 if parties == 17 else 256}"]) for family in "AC")
    taken = set()
    for values in range(1, 12_000, 7):
        sent = {
            one.name: one.form.written_bytes(values) + degree_bytes * one.form.ring.degree for one in (small, large)
        }
        chosen = choose_parameters(16, parties, values, degree_bytes=degree_bytes)
        assert sent[chosen.name] == min(sent.values())
        taken.add(chosen)
    assert small in taken if degree_bytes else large in taken
    assert choose_parameters(16, parties, 10**7, degree_bytes=degree_bytes) is large


def test_no_set_for_these():
    with pytest.raises(InputError, match="1 to 256") as refusal:
        choose_parameters(16, 257)
    assert "paillier" in refusal.value.cure
    for bits, parties in ((0, 3), (33, 3), (16, 0)):
        with pytest.raises(InputError):
            choose_parameters(bits, parties)
    with pytest.raises(InputError, match="number of values refused"):
        choose_parameters(16, 3, 0)
