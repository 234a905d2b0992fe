"""The ring kernels' tables for a ring and for a mask format, in the order of prime.cuh and mask_form.cuh; public."""

from __future__ import annotations

import threading
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from hekat.engine.cuda.device import Device, DeviceArray
from hekat.engine.ring.negacyclic import reverse_bits
from hekat.engine.ring.parameters import MaskFormat, Ring

WORD = 1 << 64
# A plaintext of up to 102 bits is divided by delta in two steps: first the bits above these, then the rest.
STEP = 1 << 51

# How many rings and formats keep their tables: more than a process has parameter sets.
KEPT_TABLES = 32

WordArray = npt.NDArray[np.uint64]


class RingTables:
    """The tables of rings and formats on one device: made once; the least recently used are dropped."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._kept: dict[Ring | MaskFormat, DeviceArray] = {}
        self._lock = threading.Lock()

    def find(self, key: Ring | MaskFormat) -> DeviceArray:
        """The tables for a ring, or for a mask format without its ring."""
        with self._lock:
            table = self._kept.pop(key, None)
            if table is None:
                words = ring_words(key) if isinstance(key, Ring) else form_words(key)
                table = self._device.publish(self._device.upload(words))
                if len(self._kept) == KEPT_TABLES:
                    del self._kept[next(iter(self._kept))]
            self._kept[key] = table
            return table


def ring_words(ring: Ring) -> WordArray:
    """For each prime a `Prime` and its 2 N factors, one after another."""
    words: list[int] = []
    for p, root in zip(ring.primes, ring.roots, strict=True):
        words += [p, p.bit_length(), (1 << p.bit_length() + 62) // p, WORD // p]
        forward = _reversed_powers(root, ring.degree, p)
        inverse = _reversed_powers(pow(root, -1, p), ring.degree, p)
        share = pow(ring.degree, -1, p)
        inverse[0], inverse[1] = share, inverse[1] * share % p
        words += _factors([*forward, *inverse], p)
    return np.array(words, np.uint64)


def form_words(form: MaskFormat) -> WordArray:
    """One `MaskForm`."""
    primes, q, delta = form.ring.primes, form.ring.modulus, form.delta
    offset = sum(1 << form.slot_bits - 1 + j * form.slot_bits for j in range(form.slots))
    delta_shift = delta.bit_length() - 1
    words = [form.ring.degree, form.slots, form.slot_bits, delta, form.dropped_bits, form.sum_dropped_bits]
    words += [*_two(form.field_bits), *_two(form.sum_field_bits)]
    for integer in (q, q - delta * offset, delta // 2 + delta * offset - q // 2):
        words += [integer % WORD, (integer >> 64) % WORD]
    words += [delta_shift, ((1 << 64 + delta_shift) - 1) // delta, STEP // delta, STEP % delta]
    last = primes[-1]
    words += [-(-primes[0] // last) * last, 0]
    words += _factors([pow(primes[0], -1, last) if len(primes) == 2 else 0], last)
    # With one prime there is no second one, nor a second field.
    for p in (primes[0], last):
        shifts = (form.dropped_bits, form.dropped_bits + form.field_bits[0])
        words += _factors([pow(2, shift, p) for shift in shifts], p)
    return np.array(words, np.uint64)


def _reversed_powers(root: int, degree: int, p: int) -> list[int]:
    """root^brv(i) for i below `degree`."""
    powers = [1]
    for _ in range(degree - 1):
        powers.append(powers[-1] * root % p)
    return [powers[reverse_bits(i, degree)] for i in range(degree)]


def _factors(residues: Iterable[int], p: int) -> list[int]:
    return [word for w in residues for word in (w, (w << 64) // p)]


def _two(bits: tuple[int, ...]) -> tuple[int, int]:
    return bits[0], bits[1] if len(bits) == 2 else 0
