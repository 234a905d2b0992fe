"""What a model tells of the rows it was trained on, and what is hidden of it."""

from hekat.privacy.choose_mask import choose_mask
from hekat.privacy.clipped_rows import ClippedRows, clip_rows
from hekat.privacy.mask import Mask
from hekat.privacy.mask_rules import MaskRules
from hekat.privacy.sensitivity import SensitivityMap, sensitivity_map

__all__ = ["ClippedRows", "Mask", "MaskRules", "SensitivityMap", "choose_mask", "clip_rows", "sensitivity_map"]
