"""Products of many residues on a device, along axes and by segment."""

from __future__ import annotations

import numpy as np

from hekat.engine.checks import (
    check_axis,
    check_own,
    check_segments,
)
from hekat.engine.cuda.device import DeviceArray
from hekat.engine.cuda.powers import CudaPowers
from hekat.engine.interface import IndexArray, Modulus, ResidueArray
from hekat.engine.reduction_groups import axis_groups, groups_of_members, offsets_of, segment_groups

# About as many groups as fill a large GPU with work: 132 multiprocessors, 12 warps each, 8 groups a warp.
FULL_GROUPS = 1 << 14
# Members of a line that one group multiplies, before lines are cut further.
LEAST_LINE = 4


class CudaProducts(CudaPowers):
    """`mod_product`, `mod_segment_product`."""

    def mod_product(self, a: ResidueArray, axis: int = 0) -> ResidueArray:
        """Product along one axis; the empty product is 1."""
        check_own(self._self, a)
        axis = check_axis(a, axis)
        shape = a.shape[:axis] + a.shape[axis + 1 :]
        rows = self._product_lines(a.modulus, self._rows(a), *axis_groups(a.shape, axis))
        return self._residues(a.modulus, shape, rows)

    def mod_segment_product(
        self, a: ResidueArray, segments: IndexArray, segment_count: int, members: IndexArray | None = None
    ) -> ResidueArray:
        """The (segment_count,) products of each segment's residues; an empty segment is 1."""
        check_own(self._self, a)
        check_segments(a, segments, segment_count, members)
        rows = self._product_lines(a.modulus, self._rows(a), *segment_groups(segments, segment_count, members))
        return self._residues(a.modulus, (segment_count,), rows)

    def _product_lines(
        self, modulus: Modulus, rows: DeviceArray, members: IndexArray, offsets: IndexArray
    ) -> DeviceArray:
        """The product of rows[members[k]] for k from offsets[i] to offsets[i + 1] - 1, for each i.

        Long lines are cut into parts for as many groups as the device takes at once, and their products multiplied
        the same way.
        """
        while True:
            longest = max(LEAST_LINE, -(-members.size // FULL_GROUPS))
            cut, parts = cut_lines(offsets, longest)
            out = self._empty_rows(modulus, cut.size - 1)
            upload = self._device.upload
            self._run(
                "product_lines/product_lines", modulus, len(out), out, rows, upload(members), upload(cut), len(out)
            )
            if parts is None:
                return out
            rows, members, offsets = out, np.arange(len(out), dtype=np.int64), parts


def cut_lines(offsets: IndexArray, longest: int) -> tuple[IndexArray, IndexArray | None]:
    """Lines cut into parts of at most `longest`: the parts' offsets, and each line's parts; None where no line is cut.

    An empty line stays one empty part.
    """
    lengths = np.diff(offsets)
    counts = np.maximum(1, -(-lengths // longest))
    if (counts == 1).all():
        return offsets, None
    parts = offsets_of(counts)
    line_of = groups_of_members(parts)
    number = np.arange(parts[-1]) - parts[line_of]
    starts = offsets[line_of] + number * longest
    return np.append(starts, offsets[-1]), parts
