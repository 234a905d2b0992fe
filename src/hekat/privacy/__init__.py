"""What a model tells of the rows it was trained on, and what is hidden of it."""

from hekat.privacy.mask import Mask
from hekat.privacy.sensitivity import SensitivityMap, sensitivity_map

__all__ = ["Mask", "SensitivityMap", "sensitivity_map"]
