"""How much noise a result carries, how much of it rounding and flooding have to hide, and how much of a value is left.

Noise. SEAL encrypts under the public key with the extra prime P and divides by it: what is left is the rounding error
t0 + t1 s, each |t| <= 1/2, s ternary, and (e u + e0 + e1 s) / P, at most 42 (N + 1) / P since SEAL's errors are within
21. A coefficient of t0 + t1 s is a sum of at most N + 1 terms within 1/2; taken as independent and of mean 0, as is
usual and not proven, Hoeffding's inequality bounds all N of a ciphertext by sqrt((N + 1) ln(2 N 2^192) / 2), but for a
chance of 2^-192: over 2^20 results of 2^20 addends still 2^-152. Both bounds together are B. Dropping a prime adds
another such error. So after weights w_i and r droppings a coefficient's noise is at most (sum |w_i| + r) B + 1, however
the addends were chosen: one ciphertext may be added to itself.

Flooding. A uniform integer U in [-2^m, 2^m) is added to every coefficient before the result is decoded. U and U + e are
within statistical distance |e| / 2^(m+1), so the released results of T ciphertexts are within T N noise / 2^(m+1) <=
2^-s of results without any encryption noise: a party that sees them, even one that chooses each next ciphertext (a
hybrid argument), learns at most as much about the key. Exact integers; decoding comes after and can give nothing away.

Source: Li and Micciancio (EUROCRYPT 2021) for the attack; Li, Micciancio, Schultz and Sorrell (CRYPTO 2022) for noise
sized by the worst case; Gaussian noise of about s/2 bits serves their finer notion of security, uniform noise the plain
statistical distance, and is sampled without error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hekat.errors import BoundError
from hekat.scheme.ckks.parameters import CkksParameters, check_statistical_bits
from hekat.scheme.ckks.seal import context_of

# SEAL draws errors of encryption within this bound.
LARGEST_ERROR = 21
# A flooded result keeps at least so many bits between the bound on its values and the deviation of the noise.
MIN_PRECISION_BITS = 10
# A grid's step is at least so many times the largest noise in a value.
GRID_OVER_NOISE_BITS = 10
# Errors of float64 in encoding and decoding, relative to the bound on values.
FLOAT_ERROR = 2.0**-42


def fresh_noise(parameters: CkksParameters) -> float:
    """B of the module text: the bound on a coefficient's noise in a fresh ciphertext."""
    degree = parameters.degree
    divided = 2 * LARGEST_ERROR * (degree + 1) * 2.0 ** (1 - parameters.prime_bits[-1])
    return math.sqrt((degree + 1) * math.log(2.0 * degree * 2.0**192) / 2) + divided


def noise_bound(parameters: CkksParameters, gain: float, rounding_count: int) -> float:
    """The bound on a coefficient's noise after sums and weights."""
    return (gain + rounding_count) * fresh_noise(parameters) + 1


def value_noise_bound(parameters: CkksParameters, gain: float, rounding_count: int) -> float:
    """The bound on the noise in a decoded value: a slot sums N coefficients, each times a number of magnitude 1."""
    return parameters.degree * noise_bound(parameters, gain, rounding_count) / parameters.scale


def error_bound(parameters: CkksParameters, gain: float, rounding_count: int, addend_count: int) -> float:
    """The bound on |raw result - weighted sum of the values|: noise, rounded encodings, rounded weights, float64."""
    encoding = parameters.degree * gain / 2 / parameters.scale
    weights = addend_count * 0.5 / _dropped_prime(parameters) if rounding_count else 0.0
    floats = FLOAT_ERROR * max(gain, 1.0)
    return value_noise_bound(parameters, gain, rounding_count) + encoding + parameters.value_bound * (weights + floats)


def largest_gain(parameters: CkksParameters, prime_count: int) -> float:
    """The largest sum of weights whose values stay within half the modulus of `prime_count` primes.

    Raises nothing; a 64th of the room is left for noise and flooding.
    """
    modulus_bits = sum(math.log2(prime) for prime in context_of(parameters).primes[:prime_count])
    return 2.0 ** (modulus_bits - 1 - parameters.scale_bits) / parameters.value_bound * (1 - 2.0**-6)


@dataclass(frozen=True)
class Flooding:
    """Uniform noise in [-2^amplitude_bits, 2^amplitude_bits) on every coefficient, and what it does to a value.

    `deviation` and `largest_error` are of a decoded value; `precision_bits` are left between `value_bound` and the
    deviation; `statistical_bits` is s of the module text, over the set's `shared_count` ciphertexts.
    """

    amplitude_bits: int
    deviation: float
    largest_error: float
    precision_bits: float
    statistical_bits: float


def describe_flooding(
    parameters: CkksParameters, gain: float = 1.0, rounding_count: int = 0, statistical_bits: int | None = None
) -> Flooding:
    """The flooding that reaches `statistical_bits` (the set's own by default), whether or not a result survives it."""
    hidden_bits = _hidden_bits(parameters, gain, rounding_count)
    wanted = parameters.statistical_bits if statistical_bits is None else statistical_bits
    amplitude_bits = max(0, math.ceil(wanted + hidden_bits) - 1)
    deviation = 2.0**amplitude_bits * math.sqrt(parameters.degree / 6) / parameters.scale
    largest_error = 2.0**amplitude_bits * parameters.degree / parameters.scale
    precision_bits = math.log2(parameters.value_bound / deviation)
    return Flooding(amplitude_bits, deviation, largest_error, precision_bits, amplitude_bits + 1 - hidden_bits)


def reached_bits(parameters: CkksParameters, gain: float = 1.0, rounding_count: int = 0) -> float:
    """The statistical security that flooding reaches while MIN_PRECISION_BITS are left; below 0 means none."""
    described = describe_flooding(parameters, gain, rounding_count)
    return described.statistical_bits + math.floor(described.precision_bits - MIN_PRECISION_BITS)


def check_flooding(
    parameters: CkksParameters, gain: float, rounding_count: int, statistical_bits: int | None = None
) -> Flooding:
    """The flooding for a result. Raises BoundError naming the level reached where too little of a value would be left.

    InputError for a level that a set could not have: noise of less than one bit hides nothing.
    So it says for every result of FedML-HE's own parameters: their scale leaves no room.
    """
    if statistical_bits is not None:
        check_statistical_bits(statistical_bits)
    flooding = describe_flooding(parameters, gain, rounding_count, statistical_bits)
    room = context_of(parameters).primes[: parameters.fresh_primes - (1 if rounding_count else 0)]
    wraps = 2 * 2.0**flooding.amplitude_bits >= 2.0**-7 * math.prod(room)
    if wraps or flooding.precision_bits < MIN_PRECISION_BITS:
        reached = reached_bits(parameters, gain, rounding_count)
        wanted = parameters.statistical_bits if statistical_bits is None else statistical_bits
        raise BoundError(
            f"parameter set {parameters.name} leaves too little room to hide its noise by flooding",
            expected=f"{wanted} bits of statistical security and {MIN_PRECISION_BITS} bits of precision",
            got=f"about {reached:.0f} bits at that precision" if reached >= 1 else "no security at that precision",
            cure="use hekat.scheme.ckks.FLOODED; or round, sharing='rounding', which is not proven",
        )
    return flooding


def default_grid(parameters: CkksParameters, gain: float = 1.0, rounding_count: int = 0) -> float:
    """The smallest power of two that is 2^10 times the largest noise in a value: the default step of rounding."""
    return 2.0 ** math.ceil(math.log2(value_noise_bound(parameters, gain, rounding_count)) + GRID_OVER_NOISE_BITS)


def _hidden_bits(parameters: CkksParameters, gain: float, rounding_count: int) -> float:
    """log2 of T N noise."""
    noise = noise_bound(parameters, gain, rounding_count)
    return math.log2(parameters.shared_count) + math.log2(parameters.degree) + math.log2(noise)


def _dropped_prime(parameters: CkksParameters) -> int:
    return context_of(parameters).primes[-2]
