"""Codecs: real values to packed integers within a proven bound, and sums of them back."""

from hekat.codec.balanced import BalancedLayout
from hekat.codec.clip import clip, quantile_alpha
from hekat.codec.daciq import daciq_alpha, daciq_sigma, derive_daciq_ratio
from hekat.codec.error_bound import error_bound_sum, quantisation_step
from hekat.codec.layout import Layout
from hekat.codec.levels import dequantise_sums, quantise_levels
from hekat.codec.offset import OffsetLayout
from hekat.codec.pack import (
    LAYOUTS,
    compression_ratio,
    make_layout,
    plaintext_space_use,
    published_compression_ratio,
    published_plaintext_space_use,
)
from hekat.codec.quantise import (
    Rounding,
    dequantise,
    dequantise_offset,
    level_bound,
    quantise,
    quantise_offset,
)
from hekat.codec.two_sign_bits import TwoSignBitsLayout

__all__ = [
    "LAYOUTS",
    "BalancedLayout",
    "Layout",
    "OffsetLayout",
    "Rounding",
    "TwoSignBitsLayout",
    "clip",
    "compression_ratio",
    "daciq_alpha",
    "daciq_sigma",
    "dequantise",
    "dequantise_offset",
    "dequantise_sums",
    "derive_daciq_ratio",
    "error_bound_sum",
    "level_bound",
    "make_layout",
    "plaintext_space_use",
    "published_compression_ratio",
    "published_plaintext_space_use",
    "quantile_alpha",
    "quantisation_step",
    "quantise",
    "quantise_levels",
    "quantise_offset",
]
