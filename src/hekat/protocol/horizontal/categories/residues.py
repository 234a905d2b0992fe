"""Numbers that hide all but their remainder mod p, and whose sum hides all but the sum of the remainders.

A sum of remainders as they are tells by its size how many parties added something other than 0. So a party sends, in
place of a remainder v, a number x = v mod p drawn from the discrete Gaussian on the whole numbers of that class, around
CENTRE with deviation DEVIATION. The deviation is four times p, far above the smoothing parameter of these classes: the
sum of n such numbers is distributed as the discrete Gaussian on the class of the sum, around n CENTRE with deviation
sqrt(n) DEVIATION, whatever the n remainders were, up to a distance below 2^-220 for each number. It tells n, which
everybody knows, and the sum of the remainders mod p. Numbers beyond sixteen deviations are not drawn (less than 2^-180
of them). The random numbers have 53 bits, and this distance is the largest: below 2^-45 a number.

One slot holds one number: where sums open in several digits, each digit is a sum of its own and tells more.

Source: Micciancio and Peikert, Hardness of SIS and LWE with small parameters (CRYPTO 2013), theorem 3.3, of sums of
discrete Gaussians on cosets; the smoothing parameter of p times the whole numbers is Poisson's sum.
"""

from __future__ import annotations

import secrets

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]

PRIME = 2**24 + 43
NUMBER_BITS = 32
"""Bits of a slot that holds a number of either sign; numbers here have none."""
MOST_NUMBER = 2 ** (NUMBER_BITS - 1) - 1
CENTRE, DEVIATION = 2.0**30, 2.0**26
_MULTIPLES = 128


def hide_residues(residues: IntArray) -> IntArray:
    """For each of `residues`, from 0 to p-1, a random number of its class from 0 to MOST_NUMBER; one dimension."""
    numbers = np.empty_like(residues)
    pending = np.arange(residues.size)
    while pending.size:
        # Proposed uniformly, kept as the Gaussian is high there: about one of thirteen.
        multiples = np.frombuffer(secrets.token_bytes(pending.size), dtype=np.uint8).astype(np.int64) % _MULTIPLES
        proposed = residues[pending] + PRIME * multiples
        density = np.exp(-(((proposed - CENTRE) / DEVIATION) ** 2) / 2)
        uniform = (np.frombuffer(secrets.token_bytes(8 * pending.size), dtype=np.uint64) >> 11) * 2.0**-53
        kept = (uniform < density) & (proposed <= MOST_NUMBER)
        numbers[pending[kept]] = proposed[kept]
        pending = pending[~kept]
    return numbers
