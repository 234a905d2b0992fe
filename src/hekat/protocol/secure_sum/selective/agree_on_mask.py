"""The mask of all parties, from the mean of their sensitivity maps: integers that nobody sees but in their sum.

    1. one sum: for each tensor and exponent e, how many parties' largest value is in (2^(e-1), 2^e]; the largest e
       with a party is the tensor's scale
    2. one sum: each party's map, times its weight / weight_max, in 16 bits below that scale
    3. every party puts the sums in order, sum << e, exactly, and takes the first k: the same mask everywhere

Both sums are of integers and fully masked. All parties learn the mean map and the scales; the aggregator learns
neither. A party that states a wrong map moves the mask by as much as weight_max rows can: what must be masked whatever
others say, the rules name in `always`. Under differential privacy the map is a release of the parties' rows like any
other: compute it on public rows, or charge it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError
from hekat.privacy.choose_mask import MOST_LEVEL, MapLevels, choose_from_levels, least_exponent, levels_of
from hekat.privacy.mask import Mask
from hekat.privacy.mask_rules import MaskRules
from hekat.privacy.sensitivity import SensitivityMap
from hekat.protocol.secure_sum.exponents import LEAST_EXPONENT, MOST_EXPONENT
from hekat.protocol.secure_sum.integer_sums import IntArray

AnyFloats = npt.NDArray[np.floating[Any]]
SumOfIntegers = Callable[[str, dict[str, IntArray], int], Mapping[str, IntArray]]
"""The exact sums over all parties of the tensors of one step ("scale" or "map"), whose magnitudes a public number
bounds."""

STEPS = ("scale", "map")
_EXPONENT_COUNT = MOST_EXPONENT - LEAST_EXPONENT + 1


@dataclass(frozen=True)
class WeightedMap:
    """One party's map, and the part of weight_max that its rows are, in (0, 1]."""

    sensitivities: SensitivityMap
    share: float

    @property
    def tensors(self) -> Mapping[str, AnyFloats]:
        return self.sensitivities.tensors


def agree_on_mask(sum_integers: SumOfIntegers, own: WeightedMap, rules: MaskRules) -> Mask:
    """The mask that all parties come to from these two sums.

    Raises InputError, before anything is sent, for rules that do not fit the tensors, a map that is not finite, and
    values beyond 2^40.
    """
    rules.whole_tensors({name: values.size for name, values in own.tensors.items()}, own.sensitivities.embeddings)
    flags = {name: _flag_of(name, values, own.share) for name, values in own.tensors.items()}
    found = sum_integers("scale", flags, 1)
    exponents = {name: _largest_of(found[name]) for name in flags}
    levels = {name: levels_of(values * own.share, exponents[name]) for name, values in own.tensors.items()}
    sums = sum_integers("map", levels, MOST_LEVEL)
    shaped = {name: sums[name].reshape(values.shape) for name, values in own.tensors.items()}
    embeddings, output_axis = own.sensitivities.embeddings, own.sensitivities.output_axis
    return choose_from_levels(MapLevels(shaped, exponents, embeddings, output_axis), rules)


def _flag_of(name: str, values: AnyFloats, share: float) -> IntArray:
    """1 at the place of the least scale of a party's own values, which is the first one also where all are smaller."""
    if not np.isfinite(values).all() or (values.size and values.min() < 0):
        raise InputError(
            f"the sensitivity map has no sizes in {name}",
            expected="finite numbers from 0",
            got="others",
            cure="look for NaN in the rows, and for weights that have grown beyond bounds",
        )
    exponent = max(least_exponent(values * share), LEAST_EXPONENT) if values.any() else LEAST_EXPONENT
    if exponent > MOST_EXPONENT:
        raise InputError(
            f"the sensitivity map is too large in {name}",
            expected=f"values up to 2^{MOST_EXPONENT}",
            got="a larger one",
            cure="scale the model's inputs, for example by training.standardise",
        )
    flag = np.zeros(_EXPONENT_COUNT, dtype=np.int64)
    flag[exponent - LEAST_EXPONENT] = 1
    return flag


def _largest_of(counts: IntArray) -> int:
    places = np.flatnonzero(counts)
    return LEAST_EXPONENT + (int(places[-1]) if len(places) else 0)
