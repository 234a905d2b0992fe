"""Randomisers: fresh for each ciphertext, within range, and for `crt` exactly uniform."""

from __future__ import annotations

import gmpy2
import numpy as np
import pytest
from scipy import stats

from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.engine.reference import ReferenceEngine
from hekat.engine.select import get_engine
from hekat.scheme.paillier import Ciphertexts, PrivateKey, PublicKey, decrypt, rerandomise
from hekat.scheme.paillier.randomiser import (
    crt_randomisers,
    djn_randomisers,
    half_randomisers,
    standard_randomisers,
)

SAMPLES_PER_RESIDUE = 30
# What a correct implementation fails by chance, once in 10^9 runs.
CHANCE = 1e-9


def randomiser_values(setting, ciphertexts, plaintexts):
    """The randomisers r^n that the ciphertexts of known plaintexts hold."""
    n = setting.keys.public.n
    values = ints_from_limbs(ciphertexts.to_limbs())
    return [c * (1 - m * n) % n**2 for c, m in zip(values, plaintexts, strict=True)]


@pytest.mark.quick_cases("cpu-2048-djn", "reference-512-standard", "reference-512-djn", "reference-512-crt")
@pytest.mark.parametrize("variant", ["standard", "djn", "crt"])
def test_every_ciphertext_has_its_own_randomiser(setting, variant):
    plaintexts = list(range(24))
    used = randomiser_values(setting, setting.encrypt(plaintexts, variant), plaintexts)
    used += randomiser_values(setting, setting.encrypt(plaintexts, variant), plaintexts)
    assert len(set(used)) == len(used)
    assert 1 not in used
    # All are n-th powers: (r^n)^((p-1)(q-1)) = 1.
    private = setting.keys.private
    order = (private.p - 1) * (private.q - 1)
    assert all(gmpy2.powmod(r, order, private.public.n_squared.value) == 1 for r in used)


def test_rerandomising_uses_a_fresh_randomiser_each(setting):
    ciphertexts = setting.encrypt([0])
    copies = ciphertexts.take(np.zeros(16, np.int64))
    for key in (setting.keys.public, setting.keys.private):
        assert len(set(ints_from_limbs(rerandomise(copies, key).to_limbs()))) == 16


def residue_counts(public, residues):
    """How often each n-th residue mod n^2 came up, in the order of the units; fails on anything else."""
    n = public.n
    position = {pow(r, n, n * n): i for i, r in enumerate(r for r in range(1, n) if gmpy2.gcd(r, n) == 1)}
    values = ints_from_limbs(residues.engine.store(residues))
    return np.bincount([position[value] for value in values], minlength=len(position))


def test_crt_randomisers_are_exactly_uniform(tiny):
    key = tiny.keys.private
    unit_count = 46 * 58
    counts = residue_counts(key.public, crt_randomisers(key, SAMPLES_PER_RESIDUE * unit_count, tiny.engine))
    assert counts.size == unit_count
    assert counts.min() > 0
    assert stats.chisquare(counts).pvalue > CHANCE


def uniform_counts(public, residues):
    """As `residue_counts`, without the few that are no units: of a tiny n some r share a factor with it."""
    units = [
        place for place, value in enumerate(ints_from_limbs(residues.engine.store(residues))) if is_unit(value, public)
    ]
    return residue_counts(public, residues.engine.take(residues, np.array(units, np.int64)))


def is_unit(value, public):
    return gmpy2.gcd(value, public.n) == 1


def test_rerandomising_by_anyone_gives_uniform_randomisers_whatever_they_were(tiny):
    """Also those that its receiver, who knows the primes, has marked: here one and the same for all."""
    key = tiny.keys.private
    unit_count = 46 * 58
    marked = tiny.encrypt([0]).take(np.zeros(SAMPLES_PER_RESIDUE * unit_count, np.int64))
    counts = uniform_counts(key.public, rerandomise(marked).residues)
    assert counts.size == unit_count
    assert stats.chisquare(counts).pvalue > CHANCE


def test_they_are_uniform_under_any_key_that_permutes():
    """Three primes, none of them safe, of which the odd parts are not coprime either."""
    public, engine = PublicKey._trusted(7 * 13 * 19, ()), get_engine("reference")
    ones = engine.load(limbs_from_ints([1] * (SAMPLES_PER_RESIDUE * 6 * 12 * 18), 1), public.n_squared)
    counts = uniform_counts(public, rerandomise(Ciphertexts(public, ones)).residues)
    assert counts.size == 6 * 12 * 18
    assert stats.chisquare(counts).pvalue > CHANCE


def test_few_drawn_from_the_stock_are_as_uniform():
    public, engine = PublicKey._trusted(5 * 7, ()), get_engine("reference")
    ones = Ciphertexts(public, engine.load(limbs_from_ints([1] * 9, 1), public.n_squared))
    taken = [rerandomise(ones) for _ in range(SAMPLES_PER_RESIDUE * 24 // 9)]
    counts = uniform_counts(public, Ciphertexts.concatenate(taken).residues)
    assert counts.size == 24
    assert stats.chisquare(counts).pvalue > CHANCE


def test_the_statistic_sees_what_is_not_uniform(tiny):
    """djn randomisers reach few units only: short exponents, and never a Jacobi symbol of -1."""
    key = tiny.keys.private
    count = SAMPLES_PER_RESIDUE * 46 * 58
    djn = djn_randomisers(key.public, count, tiny.engine)
    counts = residue_counts(key.public, djn)
    assert stats.chisquare(counts).pvalue < CHANCE
    assert (counts > 0).mean() <= 0.5


@pytest.mark.parametrize(("p", "q"), [(5, 7), (23, 29), (83, 107)])
def test_each_half_runs_through_all_powers(p, q):
    half = PrivateKey._trusted(p, q).halves[0]
    engine = get_engine("reference")
    residues = half_randomisers(half, 200 * p, engine)
    values, counts = np.unique(ints_from_limbs(engine.store(residues)), return_counts=True)
    assert set(values.tolist()) == {pow(x, p, p * p) for x in range(1, p)}
    assert stats.chisquare(counts).pvalue > CHANCE


def test_standard_randomisers_cover_their_range(tiny):
    key = tiny.keys.public
    # One of 2,772 is missing after this many draws with odds of 10^-12.
    residues = ints_from_limbs(tiny.engine.store(standard_randomisers(key, 100_000, tiny.engine)))
    assert set(residues) == {pow(r, key.n, key.n**2) for r in range(1, key.n)}


def test_decryption_blinds_every_base(small):
    """The secret exponentiation of one ciphertext, taken twice, starts from different numbers."""
    bases = []

    class RecordingEngine(ReferenceEngine):
        def mod_exp(self, a, exponents):
            bases.extend(a.data)
            return super().mod_exp(a, exponents)

    engine = RecordingEngine()
    ciphertexts = small.encrypt([5])
    ciphertexts = type(ciphertexts).from_limbs(small.keys.public, ciphertexts.to_limbs(), engine)
    for _ in range(3):
        assert small.integers(decrypt(small.keys.private, ciphertexts)) == [5]
    assert len(bases) == 6
    assert len(set(bases)) == 6
    c = ints_from_limbs(ciphertexts.to_limbs())[0]
    assert not {c % small.keys.private.p**2, c % small.keys.private.q**2} & set(bases)
