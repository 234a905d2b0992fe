"""Row gradients of a training loop of one's own: each clipped, then added, so that no row weighs more than the clip."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError
from hekat.privacy.noised_levels import clip_factors

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ClippedRows:
    """A sum of row terms, each of L2 norm below `clip` over all tensors together; made by `clip_rows`.

    Attributes:
        sums: by name, float64, without the axis of rows.
        clip: C.
        row_count: how many rows there were, those left out too.

    Examples:
        >>> import numpy as np
        >>> from hekat.privacy import clip_rows
        >>> half = clip_rows({"w": np.ones((4, 2))}, clip=1.0)
        >>> (half + half).sums["w"].round(2), (half + half).row_count
        (array([5.66, 5.66]), 8)
    """

    sums: dict[str, FloatArray] = field(repr=False)
    clip: float
    row_count: int = field(repr=False)

    def __add__(self, other: ClippedRows) -> ClippedRows:
        """The sum of both parts, such as two microbatches.

        Args:
            other: clipped to the same norm, of the same tensors.

        Returns:
            All rows of both.

        Raises:
            InputError: clips or tensors differ.

        Examples:
            >>> import numpy as np
            >>> from hekat.privacy import clip_rows
            >>> half = clip_rows({"w": np.ones((4, 1))}, clip=2.0)
            >>> (half + half).sums["w"]
            array([8.])
        """
        if self.clip != other.clip or {n: v.shape for n, v in self.sums.items()} != {
            n: v.shape for n, v in other.sums.items()
        }:
            raise InputError(
                "clipped rows of two kinds cannot be added",
                expected="the same clip, names and shapes",
                got="others",
                cure="clip both parts alike",
            )
        sums = {name: values + other.sums[name] for name, values in self.sums.items()}
        return ClippedRows(sums, self.clip, self.row_count + other.row_count)


def clip_rows(gradients: Mapping[str, Any], clip: float) -> ClippedRows:
    """Scale each row's gradient down to an L2 norm below `clip`, over all tensors together, and add the rows up.

    Args:
        gradients: maps names to arrays or torch tensors of shape (rows, ...), such as opacus' `grad_sample`; a row with
            a value that is not finite is left out.
        clip: C, above 0, finite.

    Returns:
        The sums for `Party.aggregate_private`.

    Raises:
        InputError: no tensors, other numbers of rows, or a clip that cannot be.

    Examples:
        >>> import numpy as np
        >>> from hekat.privacy import clip_rows
        >>> rows = clip_rows({"w": np.array([[3.0, 4.0], [0.3, 0.4]])}, clip=1.0)
        >>> rows.sums["w"].round(3)
        array([0.9, 1.2])
    """
    if not (isinstance(clip, int | float) and math.isfinite(clip) and clip > 0):
        raise InputError("clip refused", expected="a finite number above 0", got=str(clip), cure="change clip")
    arrays = {name: as_array(values) for name, values in gradients.items()}
    counts = {len(values) if values.ndim else -1 for values in arrays.values()}
    if len(counts) != 1 or counts == {-1}:
        raise InputError(
            "row gradients refused",
            expected="arrays by name, the rows along the first axis of each",
            got="none" if not arrays else f"{len(counts)} different numbers of rows",
            cure="give the gradient of each row, not their mean",
        )
    count = counts.pop()
    with np.errstate(over="ignore", invalid="ignore"):
        squares = sum((_squares(values, count) for values in arrays.values()), np.zeros(count))
        factors = clip_factors(np.sqrt(squares), float(clip))
    good = factors > 0
    sums = {name: np.tensordot(factors[good], values[good], axes=1) for name, values in arrays.items()}
    return ClippedRows(sums, float(clip), count)


def as_array(values: Any) -> FloatArray:
    """An array or a torch tensor as a float64 array."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().double().numpy()
    return np.asarray(values, np.float64)


def _squares(values: FloatArray, count: int) -> FloatArray:
    flat = values.reshape(count, math.prod(values.shape[1:]))
    return np.asarray(np.einsum("ij,ij->i", flat, flat))
