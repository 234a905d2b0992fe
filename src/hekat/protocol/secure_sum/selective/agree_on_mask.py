"""The mask of all parties, from the mean of their sensitivity maps: integers that nobody sees but in their sum.

    1. every party divides its map by the mean of its values, cuts it at a public multiple of that mean, and multiplies
       it by its weight / weight_max, in 24 bits
    2. one sum of integers, fully masked
    3. every party holds the sum's total against what such maps can have, and takes the first k: the same mask
       everywhere

All parties learn the mean map of the tensors that the rules leave to it; the aggregator learns nothing. Under
differential privacy the map is a release of the parties' rows like any other: compute it on public rows, or charge it.

*A lie is bounded.* Nothing that a party states moves the scale of another's map, and whatever it states weighs as much
as weight_max rows of an average map, m values of mean 1. Where t is the k-th largest value of the honest sum, it pushes
out at most m / (v - t) of the values that are v > t or more in that sum, since each makes room for one that was t at
most. So the values far above t stay masked, and the ones close to it are the liar's choice where its weight_max rows
are many beside all others'. One whose code deviates can also take away what others gave, and add until the total is
what all parties at weight_max have. What must be masked whatever others say, the rules name in `always`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError, MaskError
from hekat.privacy.choose_mask import MapLevels, choose_from_levels
from hekat.privacy.mask import Mask
from hekat.privacy.mask_rules import MaskRules
from hekat.privacy.sensitivity import SensitivityMap
from hekat.protocol.secure_sum.integer_sums import IntArray

AnyFloats = npt.NDArray[np.floating[Any]]
SumOfIntegers = Callable[[str, dict[str, IntArray], int], Mapping[str, IntArray]]
"""The exact sums over all parties of the tensors of one step, whose magnitudes a public number bounds."""

STEPS = ("map",)
MOST_LEVEL = (1 << 23) - 1
# At most 1 / 4 of the values that a map chooses are beyond the cut: where one party's map decides, it moves no mask.
_CHOSEN_TO_CUT = 4


@dataclass(frozen=True)
class WeightedMap:
    """One party's map, and the part of weight_max that its rows are, in (0, 1]."""

    sensitivities: SensitivityMap
    share: float

    @property
    def tensors(self) -> Mapping[str, AnyFloats]:
        return self.sensitivities.tensors


def agree_on_mask(sum_integers: SumOfIntegers, own: WeightedMap, rules: MaskRules, *, party_count: int) -> Mask:
    """The mask that all parties come to from one sum; `party_count`: how many can be in it at most.

    Raises InputError, before anything is sent, for rules that do not fit the tensors, and a map that is not finite;
    MaskError for a sum that is larger than such maps make it.
    """
    scale = _MapScale.of(own, rules)
    sums = sum_integers(STEPS[0], {name: scale.levels_of(name, own) for name in own.tensors}, MOST_LEVEL)
    scale.check_total(sum(int(one.sum()) for one in sums.values()), party_count)
    shaped = {name: sums[name].reshape(values.shape) for name, values in own.tensors.items()}
    exponents = dict.fromkeys(shaped, 0)
    embeddings, output_axis = own.sensitivities.embeddings, own.sensitivities.output_axis
    return choose_from_levels(MapLevels(shaped, exponents, embeddings, output_axis), rules)


@dataclass(frozen=True)
class _MapScale:
    """What a map's values are divided by, over the tensors that are `ranked` by it, and where they are cut.

    `largest` and `mean` are this party's, `mean` as a part of `largest`; `cut` and `ranked` are the same everywhere.
    """

    ranked: Mapping[str, int]
    largest: float
    mean: float
    cut: int

    @classmethod
    def of(cls, own: WeightedMap, rules: MaskRules) -> _MapScale:
        sizes = {name: values.size for name, values in own.tensors.items()}
        always, never = rules.whole_tensors(sizes, own.sensitivities.embeddings)
        for name, values in own.tensors.items():
            _check_sizes(name, values)
        ranked = {name: size for name, size in sizes.items() if name not in always | never}
        largest = max((float(own.tensors[name].max(initial=0.0)) for name in ranked), default=0.0)
        total = sum(float((own.tensors[name] / np.float64(largest)).sum()) for name in ranked) if largest else 0.0
        count = rules.count_of(sum(sizes.values())) - sum(sizes[name] for name in always)
        value_count = sum(ranked.values())
        most = max(1, -(-_CHOSEN_TO_CUT * value_count // max(1, count)))
        return cls(ranked, largest, total / max(1, value_count), 1 << (most - 1).bit_length())

    def levels_of(self, name: str, own: WeightedMap) -> IntArray:
        values = own.tensors[name]
        if name not in self.ranked or not self.largest:
            return np.zeros(values.shape, dtype=np.int64)
        cut = np.minimum(values / np.float64(self.largest) / (self.mean * self.cut), 1.0)
        return np.asarray(np.rint(cut * (own.share * MOST_LEVEL))).astype(np.int64)

    def check_total(self, total: int, party_count: int) -> None:
        # A value's rounding adds up to half a level, and a mean of floats errs by less than 2^-20 of itself.
        value_count = sum(self.ranked.values())
        of_a_party = value_count * MOST_LEVEL // self.cut
        most = party_count * (of_a_party + (of_a_party >> 20) + value_count // 2 + 1)
        if total > most:
            raise MaskError(
                "the sum of the parties' sensitivity maps is larger than maps make it: no mask is taken from it",
                expected=f"levels that add up to {most:,} at most, from {party_count} parties",
                got="more",
                cure="a party's map is not scaled as all are: ask who runs other code, or mask everything",
            )


def _check_sizes(name: str, values: AnyFloats) -> None:
    if not np.isfinite(values).all() or (values.size and values.min() < 0):
        raise InputError(
            f"the sensitivity map has no sizes in {name}",
            expected="finite numbers from 0",
            got="others",
            cure="look for NaN in the rows, and for weights that have grown beyond bounds",
        )
