"""Numbers that hide all but their remainder, and whose sum hides all but the sum of the remainders.

A sum of remainders mod m as they are tells by its size more than its own remainder. So a contributor sends, in place
of a remainder v, a number x = v mod m drawn from the discrete Gaussian on the whole numbers of that class, around 32 m
with deviation 4 m, which is far above the smoothing parameter of these classes. The sum of n such numbers is
distributed as the discrete Gaussian on the class of the sum, around 32 n m with deviation 4 sqrt(n) m, whatever the n
remainders were, up to a distance below 2^-200 for each number. It tells n, and the sum of the remainders mod m. Numbers
beyond eight deviations are not drawn (less than 2^-49 of them), and the random numbers have 53 bits: a distance below
2^-46 for each number in all.

Source: Micciancio and Peikert, Hardness of SIS and LWE with small parameters (CRYPTO 2013), theorem 3.3, of sums of
discrete Gaussians on cosets.
"""

from __future__ import annotations

import secrets

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]

RESIDUE_ROOM = 64
"""A number is below so many times the modulus."""
_CENTRE, _DEVIATION = RESIDUE_ROOM / 2, 4.0
# Numbers drawn at once: their densities stay in the processor's cache.
_BLOCK = 1 << 12


def hide_residues(residues: IntArray, modulus: int) -> IntArray:
    """For each of `residues`, from 0 to modulus - 1, a random number of its class below RESIDUE_ROOM times the modulus.

    Both are of one dimension; the modulus is at most 2^40.
    """
    hidden = np.empty_like(residues)
    for start in range(0, residues.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        hidden[block] = residues[block] + modulus * _multiples(residues[block] / modulus)
    return hidden


def _multiples(offsets: npt.NDArray[np.float64]) -> IntArray:
    """For each of `offsets`, from 0 to 1, a whole number k from 0: offset + k is drawn from the discrete Gaussian."""
    # One column for each offset: sums along columns go by whole rows.
    distances = offsets + (np.arange(RESIDUE_ROOM) - _CENTRE)[:, None]
    cumulative = np.cumsum(np.exp(-((distances / _DEVIATION) ** 2) / 2), axis=0)
    random = np.frombuffer(secrets.token_bytes(8 * offsets.size), dtype=np.uint64) >> 11
    chosen = random * 2.0**-53 * cumulative[-1]
    multiples: IntArray = np.minimum((cumulative <= chosen).sum(axis=0), RESIDUE_ROOM - 1)
    return multiples
