"""The parameter sets that the lattice scheme allows; a set checks itself once, when it is made.

Symbols in this folder: P parties; b value bits (signed, |x| <= 2^(b-1) - 1); l slot bits, k slots to a coefficient;
q modulus, N degree of the ring; Delta = floor(q / 2^(k l)); d, d2 dropped bits of a contribution and of a sum;
a public polynomial, s secret, e error, S the sum of the secrets of those whose contributions are added.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from functools import cached_property
from typing import Final

from hekat.engine.ring.interface import CBD_BOUND
from hekat.engine.ring.parameters import MaskFormat, Ring
from hekat.errors import BoundError, InputError, KeyRefusedError

MIN_VALUE_BITS: Final = 2
MAX_VALUE_BITS: Final = 32
# Field sums of more addends could exceed 64 bits.
MAX_PARTIES: Final = 1 << 14
# The largest bitlength(q) by degree that keeps 128 bits by MATZOV's costs where S is known and two parties are honest:
# security/estimate.py.
MAX_MODULUS_BITS: Final = {1024: 27, 2048: 54, 4096: 107, 8192: 215}


@dataclass(frozen=True)
class LatticeParameters:
    """A set under its public name: sums of up to `max_parties` values of `value_bits` bits open exactly, always.

    Args:
        name: What jobs and messages call the set.
        value_bits: Bits of one value, signed: |x| <= 2^(value_bits - 1) - 1.
        max_parties: How many contributions a sum may have.
        form: The ring, and how values lie in its masked elements.
        unsafe_for_benchmark: Allow a modulus too large for its degree; such a set carries `.unsafe`.

    Raises:
        InputError: The slots are narrower than such a sum needs.
        BoundError: The noise could reach half of Delta.
        KeyRefusedError: The modulus is too large for its degree.

    Examples:
        >>> import hekat
        >>> parameters = hekat.lattice.choose_parameters(16, 10)
        >>> parameters.name, parameters.level, parameters.max_parties
        ('A16-16', 32767, 16)
    """

    name: str
    value_bits: int
    max_parties: int
    form: MaskFormat
    unsafe_for_benchmark: InitVar[bool] = False

    def __post_init__(self, unsafe_for_benchmark: bool) -> None:
        _check_range("name of a parameter set", len(self.name), 1, 64, " characters")
        _check_range("bits of a value", self.value_bits, MIN_VALUE_BITS, MAX_VALUE_BITS)
        _check_range("number of parties", self.max_parties, 1, MAX_PARTIES)
        slot_bits = 1 + (self.max_parties * self.level).bit_length()
        if self.form.slot_bits != slot_bits:
            raise InputError(
                f"parameter set {self.name} refused: its slots do not fit its sums",
                expected=f"{slot_bits} bits for {self.max_parties} addends of {self.value_bits} bits",
                got=f"{self.form.slot_bits} bits",
            )
        if 2 * self.noise_bound >= self.form.delta:
            raise BoundError(
                f"parameter set {self.name} refused: its noise could alter a sum",
                expected="noise below half of Delta",
                got=f"noise of up to {self.noise_bound}, Delta {self.form.delta}",
                cure="drop fewer bits, or take fewer parties or a larger modulus",
            )
        if self.unsafe and not unsafe_for_benchmark:
            raise KeyRefusedError(
                f"parameter set {self.name} protects too little",
                expected=f"a modulus of at most {self._safe_modulus_bits} bits at degree {self.form.ring.degree}",
                got=f"{self.form.ring.modulus.bit_length()} bits",
                cure="use a set of hekat.lattice.SETS; unsafe_for_benchmark=True where no real data is involved",
            )

    @property
    def level(self) -> int:
        """The largest magnitude of a value."""
        return (1 << (self.value_bits - 1)) - 1

    @property
    def noise_bound(self) -> int:
        """The most that noise and rounding together add to a coefficient of a sum."""
        return self.max_parties * (CBD_BOUND + _half(self.form.dropped_bits)) + _half(self.form.sum_dropped_bits)

    @cached_property
    def upload_bits(self) -> float:
        """Bits of one contribution for each value, without the count slots."""
        return sum(self.form.field_bits) / self.form.slots

    @cached_property
    def download_bits(self) -> float:
        """Bits of a sum for each value, without the count slots."""
        return sum(self.form.sum_field_bits) / self.form.slots

    @property
    def unsafe(self) -> bool:
        """True for a modulus above what 128 bits of security allow, made for benchmarks and tests only."""
        return self.form.ring.modulus.bit_length() > self._safe_modulus_bits

    @property
    def _safe_modulus_bits(self) -> int:
        return MAX_MODULUS_BITS[self.form.ring.degree]

    def __repr__(self) -> str:
        mark = ", UNSAFE: for benchmarks and tests only" if self.unsafe else ""
        return f"LatticeParameters({self.name}: {self.value_bits} bits, up to {self.max_parties} parties{mark})"


def make_parameters(
    name: str,
    value_bits: int,
    max_parties: int,
    degree: int,
    primes: tuple[int, ...],
    slots: int,
    dropped_bits: int,
    sum_dropped_bits: int,
    *,
    unsafe_for_benchmark: bool = False,
) -> LatticeParameters:
    """A set of your own, with slots as wide as its sums need.

    Args:
        name: What the set is called.
        value_bits: Bits of one value, signed.
        max_parties: How many contributions a sum may have.
        degree: N, a power of two from 1024 to 8192.
        primes: One or two primes p < 2^50 with p = 1 mod 2N; their product is the modulus.
        slots: Values to one coefficient, from 1 to 8.
        dropped_bits: Low bits of a coefficient that a contribution leaves out.
        sum_dropped_bits: Low bits of a coefficient that a written sum leaves out.
        unsafe_for_benchmark: Allow a modulus too large for its degree; such a set carries `.unsafe`.

    Returns:
        The checked set.

    Raises:
        InputError: The numbers make no ring or no format.
        BoundError: The noise could reach half of Delta.
        KeyRefusedError: The modulus is too large for its degree.

    Examples:
        >>> import hekat
        >>> known = hekat.lattice.choose_parameters(16, 10)
        >>> form = known.form
        >>> made = hekat.lattice.make_parameters(
        ...     "mine", 16, 16, form.ring.degree, form.ring.primes, form.slots, form.dropped_bits, form.sum_dropped_bits
        ... )
        >>> made.form == form
        True
    """
    _check_range("bits of a value", value_bits, MIN_VALUE_BITS, MAX_VALUE_BITS)
    slot_bits = 1 + (max_parties * ((1 << (value_bits - 1)) - 1)).bit_length()
    form = MaskFormat(Ring(degree, primes), slots, slot_bits, dropped_bits, sum_dropped_bits)
    return LatticeParameters(name, value_bits, max_parties, form, unsafe_for_benchmark)


def _half(dropped_bits: int) -> int:
    """The largest rounding error where so many bits are dropped."""
    return 1 << dropped_bits >> 1


def _check_range(what: str, value: int, least: int, most: int, unit: str = "") -> None:
    if not least <= value <= most:
        raise InputError(f"{what} refused", expected=f"{least} to {most}{unit}", got=f"{value}{unit}")
