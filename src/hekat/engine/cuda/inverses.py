"""Inverses of residues on a device: one inversion on the host, and products that derive all inverses from it."""

from __future__ import annotations

from hekat.engine.checks import check_own
from hekat.engine.cuda.device import DeviceArray
from hekat.engine.cuda.residues import CudaResidues
from hekat.engine.interface import Modulus, ResidueArray
from hekat.errors import InputError


class CudaInverses(CudaResidues):
    """`mod_inv`."""

    def mod_inv(self, a: ResidueArray) -> ResidueArray:
        """Element-wise inverse, constant-time. Raises InputError naming the first index that has none."""
        check_own(self._self, a)
        if not a.size:
            return a
        inverses = self._invert_rows(a.modulus, self._rows(a))
        if inverses is None:
            # Inverted all at once on the host, which names the first residue without an inverse.
            self._host.mod_inv(self._host.load(self.store(a), a.modulus))
            raise AssertionError("a product without an inverse has a factor without one")
        return self._residues(a.modulus, a.shape, inverses)

    def _invert_rows(self, modulus: Modulus, rows: DeviceArray) -> DeviceArray | None:
        """The inverses of one or more rows; None where a row has no inverse.

        The native core inverts the product of all rows in constant time. A tree of products leads up to it, with half
        as many on each level, and back down, with twice as many.
        """
        levels = [rows]
        while len(levels[-1]) > 1:
            levels.append(self._multiply_neighbours(modulus, levels[-1]))
        total = self.store(self._residues(modulus, (1,), levels[-1]))
        try:
            inverse = self._host.mod_inv(self._host.load(total, modulus))
        except InputError:
            return None
        inverses = self._rows(self._enter(self._host.store(inverse), modulus, (1,)))
        for level in reversed(levels[:-1]):
            inverses = self._split_inverses(modulus, level, inverses)
        return inverses

    def _multiply_neighbours(self, modulus: Modulus, rows: DeviceArray) -> DeviceArray:
        """Products of rows 0 and 1, 2 and 3, ...; a last one without a neighbour stays as it is."""
        pairs = len(rows) // 2
        out = self._empty_rows(modulus, pairs + len(rows) % 2)
        self._multiply_rows(modulus, (out, 1), (rows, 2), (rows[1:], 2), pairs)
        if len(rows) % 2:
            with self._device.active():
                out[pairs:] = rows[2 * pairs :]
        return out

    def _split_inverses(self, modulus: Modulus, rows: DeviceArray, inverses: DeviceArray) -> DeviceArray:
        """Inverses of rows from their pairs' inverses: each is its pair's inverse times its neighbour."""
        pairs = len(rows) // 2
        out = self._empty_rows(modulus, len(rows))
        self._multiply_rows(modulus, (out, 2), (inverses, 1), (rows[1:], 2), pairs)
        self._multiply_rows(modulus, (out[1:], 2), (inverses, 1), (rows, 2), pairs)
        if len(rows) % 2:
            with self._device.active():
                out[2 * pairs :] = inverses[pairs:]
        return out
