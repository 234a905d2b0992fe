"""In which parameter set, and in digits of how many bits, a sum is made: alone, or under a secret that a group has."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from hekat.protocol.secure_sum.masked.opening.field import ELEMENT_BYTES
from hekat.protocol.secure_sum.masked.opening.opening_schemes import parameters_of_sum
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.scheme.lattice import LatticeParameters


@dataclass(frozen=True)
class SumForm:
    """`bits` of a value; all parties choose alike."""

    parameters: LatticeParameters
    bits: int


def choose_form(
    settings: SumSettings,
    bits: int,
    uploader_count: int,
    slots_of: Callable[[int], int],
    held: Iterable[LatticeParameters] = (),
    *,
    recodes: bool = False,
) -> SumForm:
    """The form in which a party sends the fewest bytes, of what it uploads and the offset of a fresh secret.

    `held`: sets whose secrets serve the sum, so that no secret is dealt. A sum that `recodes` may be of any number of
    bits. `slots_of` tells its slots by bits.
    """
    slots_of = cache(slots_of)
    own = parameters_of_sum(settings, bits, uploader_count, slots_of(bits))
    best, least = SumForm(own, bits), own.form.written_bytes(slots_of(bits)) + ELEMENT_BYTES * own.form.ring.degree
    for parameters in held:
        if parameters.value_bits < bits and not recodes:
            continue
        form = SumForm(parameters, parameters.value_bits if recodes else bits)
        sent = parameters.form.written_bytes(slots_of(form.bits))
        if sent <= least:
            best, least = form, sent
    return best


def is_dealt_ahead(step: str, then: str) -> bool:
    """Whether a secret for `then` is dealt within the sum of `step` although both are of one group.

    Of all sums of a group a histogram of exponents is of a set of its own.
    """
    return step == f"{then}/exponents"
