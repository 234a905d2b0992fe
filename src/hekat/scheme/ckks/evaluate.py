"""Sums of encrypted vectors, with plaintext weights or without, by the public key alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from hekat.errors import InputError, KeyRefusedError
from hekat.scheme.ckks.ciphertexts import Ciphertexts
from hekat.scheme.ckks.keys import PublicKey
from hekat.scheme.ckks.seal import load_library

MAX_WEIGHT = 2.0**20


class Accumulator:
    """The sum of vectors of `value_count` values under `key`: one vector's memory, however many are added.

    `weighted`: every vector comes with a weight, and the sum drops a prime at its end.
    Raises InputError where the set has no prime to drop.
    """

    __slots__ = ("_addend_count", "_gain", "_key", "_rounding_count", "_totals", "_value_count", "_weighted")

    def __init__(self, key: PublicKey, value_count: int, *, weighted: bool = False) -> None:
        if weighted and not key.parameters.depth:
            raise InputError(
                f"parameter set {key.parameters.name} takes no weights",
                expected="a prime for the product to drop",
                got="two primes",
                cure="use parameters of three primes or more, or weigh the values before they are encrypted",
            )
        self._key, self._value_count, self._weighted = key, value_count, weighted
        self._addend_count, self._gain, self._rounding_count = 0, 0.0, 0
        self._totals: list[Any] = []

    def add(self, ciphertexts: Ciphertexts, weight: float | None = None) -> None:
        """Add one vector, times `weight`. The sum is as it was where this raises.

        Raises InputError for another size or level and a weight that is missing, not wanted or out of range,
        KeyRefusedError for another key, BoundError as soon as the sum could wrap.
        """
        self._check(ciphertexts, weight)
        weight = None if weight is None else float(weight)
        factor = 1.0 if weight is None else abs(weight)
        addends = self._addend_count + ciphertexts.addend_count
        gain = self._gain + factor * ciphertexts.gain
        roundings = self._rounding_count + ciphertexts.rounding_count
        if gain:
            # The new sum's own checks say whether it fits.
            Ciphertexts(
                self._key, self._value_count, ciphertexts.chunks, addends, gain, int(self._weighted) or roundings
            )
        if factor:
            self._add_chunks(ciphertexts, weight)
        self._addend_count, self._gain, self._rounding_count = addends, gain, roundings

    def _add_chunks(self, ciphertexts: Ciphertexts, weight: float | None) -> None:
        library, context = load_library(), self._key.context
        factor = None
        if weight is not None:
            factor = library.Plaintext()
            context.encoder.encode(float(weight), float(context.primes[-2]), factor)
        fresh = not self._totals
        for index, chunk in enumerate(ciphertexts.chunks):
            addend = chunk
            if factor is not None:
                addend = library.Ciphertext()
                context.evaluator.multiply_plain(chunk, factor, addend)
            if not fresh:
                context.evaluator.add_inplace(self._totals[index], addend)
            elif factor is not None:
                self._totals.append(addend)
            else:
                total = library.Ciphertext()
                # A copy: the vectors that are added stay unchanged.
                context.evaluator.add_many([chunk], total)
                self._totals.append(total)

    def finish(self) -> Ciphertexts:
        """The sum. Raises InputError where no vector was added, or every weight is zero."""
        if not self._totals:
            raise InputError("there is no sum", expected="at least one vector of weight other than 0", got="none")
        roundings = self._rounding_count
        if self._weighted:
            library, context, roundings = load_library(), self._key.context, 1
            dropped = []
            for total in self._totals:
                kept = library.Ciphertext()
                context.evaluator.rescale_to_next(total, kept)
                dropped.append(kept)
            self._totals = dropped
        chunks, self._totals = tuple(self._totals), []
        return Ciphertexts(self._key, self._value_count, chunks, self._addend_count, self._gain, roundings)

    def _check(self, ciphertexts: Ciphertexts, weight: float | None) -> None:
        if ciphertexts.key != self._key:
            raise KeyRefusedError(
                "ciphertexts are under another key",
                expected=f"key {self._key.fingerprint}",
                got=f"key {ciphertexts.key.fingerprint}",
                cure="encrypt under the key of this sum",
            )
        if ciphertexts.value_count != self._value_count:
            raise InputError(
                "vectors of different lengths are not added",
                expected=f"{self._value_count} values",
                got=f"{ciphertexts.value_count}",
            )
        other_level = bool(ciphertexts.rounding_count) != bool(self._rounding_count) and self._addend_count
        if other_level or (self._weighted and ciphertexts.rounding_count):
            raise InputError(
                "ciphertexts are at another level",
                expected="vectors as they were encrypted, or sums with weights only",
                got="the other",
                cure="a sum with weights bears no second product",
            )
        if (weight is None) == self._weighted:
            raise InputError(
                "a weight is missing" if self._weighted else "this sum takes no weights",
                cure="a weight for every vector or for none",
            )
        if weight is not None:
            self._check_weight(weight)

    def _check_weight(self, weight: float) -> None:
        if isinstance(weight, bool) or not isinstance(weight, (int, float, np.integer, np.floating)):
            raise InputError("weight refused", expected="a number", got=f"a {type(weight).__name__}")
        least = 0.5 / self._key.context.primes[-2]
        small = 0 < abs(weight) < least
        if not math.isfinite(weight) or abs(weight) > MAX_WEIGHT or small:
            raise InputError(
                "weight refused",
                expected=f"0, or a magnitude from {least:.3g} to {MAX_WEIGHT:g}",
                got=f"{weight:.6g}",
            )

    def __repr__(self) -> str:
        return (
            f"Accumulator(CKKS {self._key.parameters.name}, {self._value_count} values, {self._addend_count} addends)"
        )


def add(ciphertexts: Sequence[Ciphertexts]) -> Ciphertexts:
    """The sum of vectors. Raises InputError where there is no vector; otherwise as `Accumulator`."""
    return _sum(ciphertexts, None)


def weighted_sum(ciphertexts: Sequence[Ciphertexts], weights: Sequence[float]) -> Ciphertexts:
    """The sum of vectors, each times its plaintext weight. Raises InputError for another number of weights, or none.

    Source: FedML-HE, Algorithm 1.
    """
    if len(weights) != len(ciphertexts):
        raise InputError(
            "weights and vectors do not agree", expected=f"{len(ciphertexts)} weights", got=str(len(weights))
        )
    return _sum(ciphertexts, weights)


def _sum(ciphertexts: Sequence[Ciphertexts], weights: Sequence[float] | None) -> Ciphertexts:
    if not ciphertexts:
        raise InputError("no vectors to add", expected="at least one", got="none")
    total = Accumulator(ciphertexts[0].key, ciphertexts[0].value_count, weighted=weights is not None)
    for number, vector in enumerate(ciphertexts):
        total.add(vector, None if weights is None else weights[number])
    return total.finish()
