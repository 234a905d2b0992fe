"""Sensitivity maps: what each weight's gradient says about the rows it comes from."""

from hekat.privacy.sensitivity.mean_over_rows import SensitivityMap, sensitivity_map

__all__ = ["SensitivityMap", "sensitivity_map"]
