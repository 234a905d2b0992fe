"""Every party's check of a noised sum: no longer than honest parties' clipped terms and their noise make it.

A party may write any levels into its lanes. What honest parties of a set U send is bounded: at most m terms of norm c
each, no value beyond a levels, a rounding below 1 a value, and noise of variance s^2 a value. So their sum S of d
values has |S| <= |U| (min(m c, a sqrt(d)) + sqrt(d)), plus the length of all noise, which passes
s sqrt(|U|) sqrt(d + 2 sqrt(d t) + 2 t) with a chance below e^-t: discrete Gaussians are subgaussian (Canonne et al.
2020), and lengths of subgaussian vectors keep to that bound (Hsu, Kakade, Zhang 2012). The check names nobody, and
reads what all parties read anyway.
"""

from __future__ import annotations

import math

import numpy as np

from hekat.errors import LongSumError
from hekat.privacy.accounting import NoisedSum
from hekat.protocol.horizontal.privacy_settings import PrivacySettings
from hekat.protocol.secure_sum.integer_sums import IntegerSums

# By t = 30 an honest sum is refused, and an honest party's coins are too many, with a chance below 10^-13 each.
_EXPONENT = 30.0


def most_terms(privacy: PrivacySettings, weight_max: int) -> float:
    """m: the clipped terms that an honest party of at most `weight_max` rows adds up; behind coins but for a chance.

    Source: Bernstein's inequality for the number of coins.
    """
    if privacy.unit == "party":
        return 1.0
    q = privacy.sampling
    likely = q * weight_max + math.sqrt(2 * q * (1 - q) * weight_max * _EXPONENT) + _EXPONENT
    return float(weight_max) if q == 1 else min(float(weight_max), likely)


def most_norm(mechanism: NoisedSum, terms: float, party_count: int) -> float:
    """What the norm of the sum of so many honest parties does not pass, in levels."""
    d, t = mechanism.value_count, _EXPONENT
    noise = math.sqrt(party_count * mechanism.law.variance) * math.sqrt(d + 2 * math.sqrt(d * t) + 2 * t)
    values = min(terms * mechanism.levels, mechanism.alpha / mechanism.granularity * math.sqrt(d))
    return party_count * (values + math.sqrt(d)) + noise


def check_noised_sum(step: str, found: IntegerSums, mechanism: NoisedSum, terms: float) -> None:
    """Raise LongSumError where the sum is longer than honest parties make it."""
    levels = [values.astype(np.float64).ravel() for values in found.tensors.values()]
    norm = math.sqrt(sum(float(np.dot(flat, flat)) for flat in levels))
    most = most_norm(mechanism, terms, found.party_count)
    if norm > most:
        raise LongSumError(
            f"the sum of {step} is longer than honest updates and their noise make it: nothing of it was used",
            expected=f"a norm of {most:.6g} levels at most",
            got="a longer one",
            cure="a party sent more than its clipped part, or the sum was altered: find out which first",
        )
