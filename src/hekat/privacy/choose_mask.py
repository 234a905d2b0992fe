"""A mask from a map: layers that are always or never masked first, then the most sensitive values, or whole rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.privacy.mask import BoolArray, Mask
from hekat.privacy.mask_rules import MaskRules
from hekat.privacy.sensitivity.mean_over_rows import SensitivityMap
from hekat.privacy.top_values import choose_top

IntArray = npt.NDArray[np.int64]
_MOST_LEVEL = (1 << 15) - 1


@dataclass(frozen=True)
class MapLevels:
    """A map in whole numbers: a value is levels[tensor] * 2^exponents[tensor], up to one factor for all.

    `embeddings` and `output_axis` as in SensitivityMap.
    """

    levels: Mapping[str, IntArray]
    exponents: Mapping[str, int]
    embeddings: tuple[str, ...] = ()
    output_axis: int = 0


def choose_mask(sensitivities: SensitivityMap, rules: MaskRules) -> Mask:
    """The mask of the most sensitive values of one map.

    Parties that mask an update together agree on the mean of their maps first (`agree_on_mask` in
    `hekat.protocol.secure_sum`): this is what one of them would choose alone.

    Args:
        sensitivities: of one party's rows.
        rules: how many values, which layers always or never, in what groups.

    Returns:
        The mask. Values are compared in 16 bits below the largest one of their tensor; equal ones go by their place,
        tensors by name.

    Raises:
        InputError: rules that name no tensor of the map, or leave too many or too few values.

    Examples:
        >>> import numpy as np
        >>> from hekat.privacy import MaskRules, SensitivityMap, choose_mask
        >>> found = SensitivityMap({"a": np.array([0.1, 0.9, 0.3, 0.2]), "b": np.array([0.5])}, 8, "random")
        >>> choose_mask(found, MaskRules(0.4)).chosen("a").tolist()
        [False, True, False, False]
        >>> choose_mask(found, MaskRules(0.4, always=("b",))).chosen_count
        2
    """
    exponents = {name: _least_exponent(values) for name, values in sensitivities.tensors.items()}
    levels = {name: _levels_of(values, exponents[name]) for name, values in sensitivities.tensors.items()}
    return choose_from_levels(MapLevels(levels, exponents, sensitivities.embeddings, sensitivities.output_axis), rules)


def choose_from_levels(found: MapLevels, rules: MaskRules) -> Mask:
    """As `choose_mask`, from sums of the parties' levels: the same at every party, since it is exact in integers."""
    levels = found.levels
    sizes = {name: values.size for name, values in levels.items()}
    always, never = rules.whole_tensors(sizes, found.embeddings)
    ranked = {name: values for name, values in levels.items() if name not in always | never}
    count = rules.count_of(sum(sizes.values())) - sum(sizes[name] for name in always)
    if rules.groups == "rows":
        top = _choose_rows(ranked, count, found.exponents, found.output_axis)
    else:
        mask = choose_top(ranked, count, found.exponents)
        top = {name: mask.chosen(name) for name in ranked}
    whole = {name: np.full(sizes[name], name in always) for name in always | never}
    return Mask.from_arrays({**top, **whole})


def _least_exponent(values: npt.NDArray[np.floating[Any]]) -> int:
    """The least e with every value <= 2^e; 0 where all are zero."""
    largest = float(values.max()) if values.size else 0.0
    mantissa, exponent = np.frexp(largest)
    return int(exponent) - (1 if mantissa == 0.5 else 0) if largest > 0 else 0


def _levels_of(values: npt.NDArray[np.floating[Any]], exponent: int) -> IntArray:
    """Values from 0 to 2^exponent as whole numbers from 0 to 2^15 - 1."""
    return np.asarray(np.rint(np.ldexp(values.astype(np.float64), -exponent) * _MOST_LEVEL)).astype(np.int64)


def _choose_rows(
    levels: Mapping[str, IntArray], count: int, exponents: Mapping[str, int], output_axis: int
) -> dict[str, BoolArray]:
    """Rows with the largest sums until `count` values are chosen: the last one whole."""
    chosen = {name: np.zeros(values.shape, dtype=np.bool_) for name, values in levels.items()}
    base = min(exponents.values(), default=0)
    ranked: list[tuple[int, str, int]] = []
    partners = {name: partner for name in levels if (partner := _bias_of(name, levels, output_axis))}
    for name in sorted(levels.keys() - set(partners.values())):
        values = levels[name]
        axes = tuple(axis for axis in range(values.ndim) if axis != _row_axis(values, output_axis))
        # A row of 2^30 values of a thousand parties would be needed to pass 2^63.
        sums = [int(one) << (exponents[name] - base) for one in values.sum(axis=axes, dtype=np.int64).ravel()]
        if name in partners:
            bias = partners[name]
            sums = [one + (int(own) << (exponents[bias] - base)) for one, own in zip(sums, levels[bias], strict=True)]
        ranked += [(-one, name, row) for row, one in enumerate(sums)]
    left = count
    for _, name, row in sorted(ranked):
        if left <= 0:
            break
        flags = np.moveaxis(np.atleast_1d(chosen[name]), _row_axis(levels[name], output_axis), 0)
        flags[row] = True
        left -= flags[row].size
        if name in partners:
            chosen[partners[name]][row] = True
            left -= 1
    return {name: flags.ravel() for name, flags in chosen.items()}


def _row_axis(values: IntArray, output_axis: int) -> int:
    return output_axis if values.ndim > 1 else 0


def _bias_of(name: str, levels: Mapping[str, IntArray], output_axis: int) -> str:
    """The bias whose values belong to the rows of a weight; "" where there is none."""
    stem, _, last = name.rpartition(".")
    bias = f"{stem}.bias".removeprefix(".")
    values = levels[name]
    if last != "weight" or values.ndim < 2 or bias not in levels:
        return ""
    return bias if levels[bias].shape == (values.shape[output_axis],) else ""
