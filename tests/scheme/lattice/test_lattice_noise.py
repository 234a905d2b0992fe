"""Noise at its bound: every coefficient of every set still opens, and nothing beyond the bound would."""

from __future__ import annotations

import random

import numpy as np
import pytest

from hekat.engine.interface import Engine
from hekat.engine.reference import ReferenceEngine
from hekat.engine.ring.mask_layout import write_fields
from hekat.scheme.lattice import SETS, SecretKey, SecretSum, decrypt, encrypt, public_key

from .conftest import ENGINES_AND_SETS


class ExtremeErrors(ReferenceEngine):
    """Every error of every chunk is +21 or -21, by turns."""

    def sample_cbd(self, key, first_chunk, chunk_count, degree):
        return np.resize(np.array([21, 21, -21], np.int8), (chunk_count, degree))


@pytest.mark.parametrize(("engine", "name"), ENGINES_AND_SETS, indirect=["engine"])
def test_extreme_errors_of_all_parties_open(engine, name):
    """Errors, secrets and values of all parties at their extremes; rounding errors add up, as parties are alike."""
    parameters = SETS[name]
    form, parties = parameters.form, parameters.max_parties
    signs = np.resize([1, -1, -1, 1, -1], form.ring.degree)
    values = (parameters.level * np.resize([1, -1], 1500)).astype(np.int32)
    key = public_key(b"noise", 1, parameters)
    secret = SecretKey(parameters, (21 * signs).astype(np.int8))
    written = encrypt(parameters, secret, key, values, ExtremeErrors())
    fields = np.zeros(form.field_count(values.size), np.uint64)
    engine.add_masked(form, fields, np.frombuffer(written, np.uint8), values.size)
    written_sum = engine.write_sum(form, fields * np.uint64(parties), values.size).tobytes()
    secret_sum = SecretSum(parameters, (21 * parties * signs).astype(np.int32), parties)
    sums = decrypt(parameters, secret_sum, key, written_sum, values.size, engine)
    np.testing.assert_array_equal(sums, values.astype(np.int64) * parties)


class Opening:
    """Written sums of one full chunk whose phase is what a test says, to the last unit."""

    def __init__(self, engine: Engine, name: str) -> None:
        self.engine = engine
        self.parameters = SETS[name]
        self.form = self.parameters.form
        self.key = public_key(b"phase", 1, self.parameters)
        ring = self.form.ring
        rng = np.random.default_rng(len(name))
        bound = 21 * self.parameters.max_parties
        coefficients = rng.integers(-bound, bound + 1, ring.degree).astype(np.int32)
        self.secret_sum = SecretSum(self.parameters, coefficients, self.parameters.max_parties)
        residues = np.stack([coefficients.astype(np.int64) % p for p in ring.primes]).astype(np.uint64)
        a = engine.expand_uniform(ring, self.key, 0, 1)[0]
        product = engine.ring_intt(ring, engine.ring_mul(ring, a, engine.ring_ntt(ring, residues)))
        q = ring.modulus
        weights = [q // p * pow(q // p, -1, p) for p in ring.primes]
        self.masks = [sum(w * r for w, r in zip(weights, column, strict=True)) % q for column in product.T.tolist()]
        self.random = random.Random(name)
        self.inverse_of_delta = pow(self.form.delta, -1, 1 << self.form.sum_dropped_bits)

    def written_coefficient(self, n: int, error: int) -> tuple[int, list[int]]:
        """What is written for coefficient n, and its slots: received * 2^d2 is a S + Delta m + error exactly."""
        form, q, step = self.form, self.form.ring.modulus, 1 << self.form.sum_dropped_bits
        bound = self.parameters.max_parties * self.parameters.level
        while True:
            slots = self.random.choices((-bound, bound), k=form.slots)
            slots[0] = self.random.randrange(-bound // 2, bound // 2)
            exact = self.masks[n] + form.delta * self.message(slots) + error
            # Delta is odd: the lowest slot can be chosen so that no rounding is left to do.
            shift = -exact * self.inverse_of_delta % step
            slots[0] += shift - step if shift > step // 2 else shift
            x = (self.masks[n] + form.delta * self.message(slots) + error) % q
            if x % step == 0 and abs(slots[0]) <= bound:
                return x // step, slots

    def message(self, slots: list[int]) -> int:
        return sum(slot << j * self.form.slot_bits for j, slot in enumerate(slots))

    def open(self, errors: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """(sums as opened, sums as put in) with these errors from coefficient 1 on; coefficient 0 holds the count."""
        form, step = self.form, 1 << self.form.sum_dropped_bits
        first = [self.parameters.max_parties, *[0] * (form.slots - 1)]
        x = (self.masks[0] + form.delta * self.message(first)) % form.ring.modulus
        coefficients, columns = [(x + step // 2) // step], [first]
        for n, error in enumerate(errors, 1):
            coefficient, slots = self.written_coefficient(n, error)
            coefficients.append(coefficient)
            columns.append(slots)
        written = write_fields(coefficients, form.sum_field_bits)
        put_in = np.array(columns).T.reshape(-1)[1:]
        sums = decrypt(self.parameters, self.secret_sum, self.key, written, put_in.size, self.engine)
        return sums, put_in


@pytest.mark.quick_values
@pytest.mark.parametrize(("engine", "name"), ENGINES_AND_SETS, indirect=["engine"])
def test_noise_at_the_bound_opens_in_every_coefficient(engine, name):
    opening = Opening(engine, name)
    bound = opening.parameters.noise_bound
    errors = [bound if n % 2 else -bound for n in range(1, opening.form.ring.degree)]
    sums, put_in = opening.open(errors)
    np.testing.assert_array_equal(sums, put_in)


@pytest.mark.parametrize("name", ["A8-32", "A16-16", "C16-128"])
def test_half_of_delta_is_where_exactness_ends(default_engine, name):
    """What the parameters' condition excludes is what goes wrong: the sum is one off, at Delta / 2 on either side."""
    opening = Opening(default_engine, name)
    half, count = opening.form.delta // 2, opening.form.ring.degree - 1
    signs = np.resize([1, -1], count)
    for error, off_by in ((half, 0), (half + 1, 1)):
        sums, put_in = opening.open([int(error * sign) for sign in signs])
        # Slot 0 of coefficients 1 to N - 1; the other slots stand behind them.
        np.testing.assert_array_equal(sums[:count] - put_in[:count], off_by * signs)
        np.testing.assert_array_equal(sums[count:], put_in[count:])
