"""How far a decoded sum or mean can be from the float sum or mean: the bound that runs check and reports state.

Symbols: L levels to each side, h = 1/2 step (nearest) or 1 step (stochastic), P addends, u = 2^-53.

Quantisation: each addend is off by at most h. Sums of integers are exact, so P addends are off by at most P * h.

Floating point, all relative to the largest sum P * alpha:
  quantising      scale and product round: 2u per addend; `offset` shifts by alpha first and spans 2 alpha: 6u
  dequantising    step and product round: 2u
  the float sum   P - 1 additions in any order: (P - 1)u
  the scale       one product on each side, or a division and a product: 4u
With 4u for second-order terms and the rounding of the bound itself: (P + 15)u, used as (P + 16)u. At 16 bits and 9
parties that is 2e-10 of the quantisation error; at 32 bits and 65536 parties 3%.
"""

from __future__ import annotations

import math

from hekat.codec.clip import check_alpha
from hekat.codec.layout import check_count
from hekat.codec.pack import LAYOUTS
from hekat.codec.quantise import Rounding, check_rounding, check_value_bits, level_interval_count
from hekat.errors import InputError

_UNIT_ROUNDOFF = 2.0**-53
_FIXED_ROUNDINGS = 16


def quantisation_step(alpha: float, bits: int, layout: str = "balanced") -> float:
    """The distance between neighbouring levels, in units of the values.

    `offset` has 2^bits levels, none of them zero; the others have 2^bits - 1 levels around zero (one bit: two).
    """
    if layout not in LAYOUTS:
        raise InputError("unknown packing layout", expected=f"one of {', '.join(LAYOUTS)}", got=repr(layout))
    check_value_bits(bits)
    intervals = (1 << bits) - 1 if layout == "offset" else level_interval_count(bits)
    return 2 * check_alpha(alpha) / intervals


def error_bound_sum(
    alpha: float,
    bits: int,
    addend_count: int,
    rounding: Rounding = "nearest",
    layout: str = "balanced",
    *,
    scale: float = 1.0,
) -> float:
    """The largest |scale * decoded sum - scale * float sum| of `addend_count` contributors, per value.

    The float sum adds the clipped values in float64 in any order; the bound does not cover what clipping removed
    (`clip` counts that). `scale` is the factor on the sum: 1 / weight sum for a mean of weighted updates, 1 /
    addend_count for a plain mean. The bound includes rounding in float64 (module text). `offset` is off by half a step
    at zero in the same direction for every contributor: the bound includes this bias, and the bias reaches it.

    Raises InputError for an alpha, bits, count, name or scale out of range.
    """
    check_count("addend_count", addend_count, 1, None)
    check_rounding(rounding)
    if not (math.isfinite(scale) and scale > 0):
        raise InputError("the scale was refused", expected="a finite positive number", got="another")
    step = quantisation_step(alpha, bits, layout)
    quantisation = step * (0.5 if rounding == "nearest" else 1.0)
    floating_point = (addend_count + _FIXED_ROUNDINGS) * _UNIT_ROUNDOFF * check_alpha(alpha)
    return addend_count * (quantisation + floating_point) * scale
