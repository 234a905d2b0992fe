"""The dual attacks on LWE: short vectors of the dual lattice tell samples from noise, with and without guessing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from math import e, exp, inf, log, log2, pi, sqrt

from primal import unique_svp
from reduction import SMALLEST_BLOCK, Attack, CostModel, Instance, add_bits, log_root_hermite

# MATZOV section 7.4: gates of a multiplication and an addition in 32-bit arithmetic.
MULTIPLY_GATES, ADD_GATES = 32**2, 5 * 32


@dataclass(frozen=True)
class Guess:
    """Coordinates of the secret that are not reduced: `enumerated` are tried, `transformed` are found modulo `p`."""

    enumerated: int = 0
    transformed: int = 0
    p: int = 2


def distinguish(instance: Instance, model: CostModel) -> Attack:
    """Short dual vectors alone, no coordinate guessed.

    Source: Micciancio, Regev, "Lattice-based cryptography", 2009, section 5.4; the number of vectors as in `hybrid`.
    """
    start = unique_svp(instance, model).block_size
    costs = (_cheapest(instance, model, beta, Guess()) for beta in range(max(SMALLEST_BLOCK, start - 40), start + 60))
    bits, beta, d = min(costs)
    return Attack("dual", bits, beta, d)


def hybrid(instance: Instance, model: CostModel) -> Attack:
    """Some coordinates guessed, some found modulo p by a fast Fourier transform over the samples that are left.

    Rests on the independence of the dual vectors, which Ducas and Pulles, Crypto 2023, show to be too kind to the
    attacker: kept because it can only lower the figure.
    Source: MATZOV 2022, Theorem 7.6; the deviations of secrets are at least 1, so that its correction is 1.
    """
    start = distinguish(instance, model).block_size
    best = (inf, 0, 0, Guess())
    for p in range(2, 13):
        # Costs jump with the whole dimensions of sieves: a coarse grid first, then down from its best place.
        guesses = [Guess(k, f, p) for f in range(0, 73, 4) for k in range(0, 25, 4)]
        blocks = range(max(SMALLEST_BLOCK, start - 40), start + 1, 4)
        found = min(((*_cheapest(instance, model, beta, g), g) for g in guesses for beta in blocks), key=_bits)
        for step in (2, 1):
            found = _improve(instance, model, found, step)
        best = min(best, found, key=_bits)
    return Attack("dual hybrid", *best[:3])


def _bits(found: tuple[float, int, int, Guess]) -> float:
    return found[0]


def _improve(
    instance: Instance, model: CostModel, best: tuple[float, int, int, Guess], step: int
) -> tuple[float, int, int, Guess]:
    """The best place that is reached from `best` by steps of block size and guessed coordinates."""
    while True:
        _, beta, _, guess = best
        near = []
        for i, j, k in product((-step, 0, step), repeat=3):
            changed = Guess(guess.enumerated + j, guess.transformed + k, guess.p)
            if beta + i >= SMALLEST_BLOCK and changed.enumerated >= 0 and changed.transformed >= 0:
                near.append((*_cheapest(instance, model, beta + i, changed), changed))
        found = min(near, key=_bits)
        if found[0] >= best[0]:
            return best
        best = found


def _cheapest(instance: Instance, model: CostModel, beta: int, guess: Guess) -> tuple[float, int, int]:
    """log2 of the cost at this block size, the block size, the best lattice dimension."""
    d, sieve, log_noise, reduction = _reduced(instance, model, beta, guess.enumerated + guess.transformed)
    vector_bits = _vectors(instance, log_noise, guess)
    sieving = reduction + max(0.0, vector_bits - 0.2075 * sieve)
    return add_bits(sieving, _guessing(instance, vector_bits, guess)), beta, d


@cache
def _reduced(instance: Instance, model: CostModel, beta: int, guessed: int) -> tuple[int, int, float, float]:
    """What all guesses of as many coordinates share.

    The best lattice dimension, the sieve's, ln of the noise of its vectors over q, log2 of a reduction and a sieve.
    """
    reduced = instance.dimension - guessed
    log_delta = log_root_hermite(beta)
    best = round(sqrt(reduced * (instance.log_modulus - instance.log_scale) / log_delta))
    d = int(max(min(best, reduced + instance.samples), reduced + 1))
    sieve = model.sieve_dimension(beta, d)
    log_length = (
        log(instance.error_deviation)
        + reduced / d * (instance.log_modulus - instance.log_scale)
        + log(4 / 3 * sieve / (2 * pi * e)) / 2
        + log_delta * (d - sieve)
    )
    return d, sieve, log_length - instance.log_modulus, add_bits(model.reduction_bits(beta, d), model.sieve_bits(sieve))


def _vectors(instance: Instance, log_noise: float, guess: Guess) -> float:
    """log2 of the dual vectors that tell the right guess, where their products have noise of exp(`log_noise`) q."""
    if log_noise > 3:
        return inf
    entropy = guess.enumerated * _secret_entropy(instance) + guess.transformed * log(guess.p)
    spread = 4 * (pi * exp(log_noise)) ** 2 + guess.transformed / 3 * (instance.secret_deviation * pi / guess.p) ** 2
    return (spread + log(entropy + log(2))) / log(2)


def _guessing(instance: Instance, vector_bits: float, guess: Guess) -> float:
    """log2 of the gates of all guesses: one transform and one update of its table each."""
    if not guess.enumerated and not guess.transformed:
        return -inf
    transform = log2(MULTIPLY_GATES * max(guess.transformed, 1)) + (guess.transformed + 1) * log2(guess.p)
    update = log2(4 * ADD_GATES) + vector_bits
    tries = guess.enumerated * (log2(2 / sqrt(e)) + _secret_entropy(instance))
    return tries - log2(1 - exp(-1 / (2 * instance.secret_deviation**2))) + add_bits(transform, update)


def _secret_entropy(instance: Instance) -> float:
    """Bits of entropy of one coordinate of the secret, taken as Gaussian."""
    return log2(sqrt(2 * pi * e) * instance.secret_deviation)
