"""How rows lie in polynomials, how far apart plaintexts are, and how much of that distance hides the noise.

Row p = k r + j of an exchange lies in group k at coefficient j W. Times P = sum of +-X^(digit - j W), coefficient i < W
of the sum over groups holds the sum of the rows whose digit is i; terms of other rows fall on other coefficients, which
nobody sends. A host adds f, uniform below `flood`, to each coefficient that it sends.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, log2
from typing import Final

import numpy as np

from hekat.engine.interface import IndexArray
from hekat.errors import BoundError, InputError
from hekat.scheme.bin_sums.keys import SEED_BYTES
from hekat.scheme.bin_sums.noise import flood_bits, rounding_noise, sum_noise
from hekat.scheme.bin_sums.parameters import BinSumParameters

SENT_BITS: Final = (32, 40, 48)
# Odds that a run's numbers show anything of their noise: at most two to the minus so many.
MIN_RUN_BITS: Final = 30
# Polynomials of a block, its uniform one among them: some 12 MiB in memory.
POLYNOMIALS_AT_ONCE: Final = 192
# Bits that a lying guest may get of the polynomial v of one answer, for each coefficient of v: v keeps 128 bits
# against whoever knows so many (security/estimate.py).
KNOWN_BITS_OF_A_COEFFICIENT: Final = 2


@dataclass(frozen=True)
class SumLayout:
    """Public facts that guest and hosts share for one exchange of rows and sums.

    `window`: W, a power of two. `rows`: the most rows of one segment. `ranges`: for every component the least and the
    largest integer that one row can have. Raises InputError for impossible facts, BoundError where the modulus has no
    room for the sums, their noise and what hides it.
    """

    parameters: BinSumParameters
    window: int
    rows: int
    ranges: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        degree = self.parameters.degree
        if not 1 <= self.window <= degree or degree % self.window:
            raise InputError("window refused", expected=f"a power of two from 1 to {degree}", got=str(self.window))
        if self.rows < 1:
            raise InputError("rows of a segment refused", expected="1 or more", got=str(self.rows))
        if not self.ranges or any(low >= high for low, high in self.ranges):
            raise InputError("ranges refused", expected="a least and a larger integer a component", got="others")
        _ = self.sent_bits
        shown = self.window * self.components * self.opened_bits
        if shown > KNOWN_BITS_OF_A_COEFFICIENT * degree:
            raise BoundError(
                "an answer would show a lying guest too much of what hides a host's rows",
                expected=f"bits opened in one answer of at most {KNOWN_BITS_OF_A_COEFFICIENT * degree}",
                got=f"{ceil(shown)} bits: {self.window * self.components} numbers of {ceil(self.opened_bits)} bits",
                cure="take a smaller window, or ask for fewer components at a time",
            )

    @property
    def components(self) -> int:
        """C."""
        return len(self.ranges)

    @property
    def rows_per_group(self) -> int:
        """r."""
        return self.parameters.degree // self.window

    @property
    def rows_at_once(self) -> int:
        """Rows of a full block."""
        return max(1, POLYNOMIALS_AT_ONCE // (self.components + 1)) * self.rows_per_group

    def groups(self, row_count: int) -> int:
        """Groups that `row_count` rows take."""
        return -(-row_count // self.rows_per_group)

    def windows(self, bin_counts: IndexArray) -> IndexArray:
        """Windows, which is answers, of each segment's bins."""
        return -(-bin_counts // self.window)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """t_c: the number of values that a sum can have."""
        return tuple((high - low) * self.rows + 1 for low, high in self.ranges)

    @cached_property
    def deltas(self) -> tuple[int, ...]:
        """Delta_c: the distance of neighbouring sums."""
        return tuple(self.parameters.modulus // t for t in self.counts)

    @cached_property
    def noise(self) -> int:
        """A bound of a re-randomised sum's noise mod q, before anything is rounded."""
        return sum_noise(self.parameters.degree, self.terms)

    @property
    def terms(self) -> int:
        """The most errors of rows in one number: the digits of a row in one window are distinct."""
        return self.rows * self.window

    @cached_property
    def sent_bits(self) -> int:
        """w: answers are integers mod 2^w. The least that leaves half of every Delta_c to what hides noise."""
        for bits in SENT_BITS:
            if all(2 * flood >= delta for flood, delta in zip(self._floods(bits), self.deltas, strict=True)):
                return bits
        room = self.parameters.modulus // (2 * self._spent(max(self.counts), SENT_BITS[-1]))
        raise BoundError(
            f"parameter set {self.parameters.name} has no room for sums of this size",
            expected=f"at most about {room} values of a sum",
            got=f"{max(self.counts)}: rows of a node times the range of a row's integer",
            cure="lower training.gradient_bits, or use protection.kind = 'paillier'",
        )

    @property
    def sent_bytes(self) -> int:
        """Bytes of a coefficient of an answer."""
        return self.sent_bits // 8

    @cached_property
    def floods(self) -> tuple[int, ...]:
        """F_c: what hides noise is uniform below it; multiples of the smaller prime."""
        return self._floods(self.sent_bits)

    def slack(self, component: int) -> int:
        """What the opener adds to a sum mod 2^w, so that noise and rounding never take it below its multiple."""
        return self._slack(self.counts[component], self.sent_bits)

    @property
    def flood_bits(self) -> float:
        """One number shows anything of its noise with odds of at most two to the minus so many."""
        return flood_bits(self.parameters.degree, self.terms, min(self.floods))

    @property
    def opened_bits(self) -> float:
        """The most bits that a guest, also one that lies, gets of one number of a first half: log2(q / F_c)."""
        return max(log2(self.parameters.modulus) - log2(flood) for flood in self.floods)

    def run_bits(self, numbers: int) -> float:
        """Any of a run's `numbers` shows anything of its noise with odds of at most two to the minus so many."""
        return self.flood_bits - log2(max(1, numbers))

    def check_run(self, numbers: int) -> None:
        """Raise BoundError where a run of so many numbers leaves worse odds than 2^-30."""
        if self.run_bits(numbers) < MIN_RUN_BITS:
            raise BoundError(
                "noise of sums would show with too large odds",
                expected=f"at most 2^-{MIN_RUN_BITS} for the numbers of a run",
                got=f"2^-{self.run_bits(numbers):.1f} for {numbers} numbers",
                cure="lower training.gradient_bits, training.max_iter or training.max_bins, "
                "or use protection.kind = 'paillier'",
            )

    def block_bytes(self, row_count: int) -> int:
        """Bytes of the numbers of `row_count` encrypted rows on the wire."""
        blocks = -(-row_count // self.rows_at_once)
        return self.groups(row_count) * self.components * self.parameters.polynomial_bytes + blocks * SEED_BYTES

    def answer_bytes(self, bin_counts: IndexArray) -> int:
        """Bytes of the numbers of answers for segments with so many bins each on the wire."""
        halves = int(self.windows(bin_counts).sum()) * self.parameters.degree
        return (halves + int(np.sum(bin_counts)) * self.components) * self.sent_bytes

    def _floods(self, sent_bits: int) -> tuple[int, ...]:
        """For each component the largest multiple of the smaller prime that leaves every sum its own quotient; below
        1 where there is none.
        """
        small = self.parameters.ring.primes[1]
        rooms = [delta - self._spent(t, sent_bits) for delta, t in zip(self.deltas, self.counts, strict=True)]
        return tuple(room // small * small for room in rooms)

    def _spent(self, count: int, sent_bits: int) -> int:
        """What noise and rounding take of Delta, above and below."""
        rounded = rounding_noise(self.parameters.degree, sent_bits) + self._slack(count, sent_bits)
        return self.noise + count - (-rounded * self.parameters.modulus >> sent_bits)

    def _slack(self, count: int, sent_bits: int) -> int:
        # Delta_c t_c is not q: a sum lies up to t_c beside its multiple of q / t_c.
        below = -(-(self.noise + count << sent_bits) // self.parameters.modulus)
        return below + rounding_noise(self.parameters.degree, sent_bits)
