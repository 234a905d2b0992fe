"""Attacks that guess rows from an update, as instruments: what would be readable of it, at which mask."""

from hekat.privacy.attacks.attacked_model import AttackedModel
from hekat.privacy.attacks.inversion import Attack, Reconstruction, deep_leakage, invert, inverting_gradients
from hekat.privacy.attacks.labels import LabelReading, read_label, read_labels
from hekat.privacy.attacks.last_layer import LastLayer
from hekat.privacy.attacks.lenet import leaky_lenet
from hekat.privacy.attacks.objective import CosineDistance, SquaredDifference
from hekat.privacy.attacks.optimiser import LineSearch, SignedAdam
from hekat.privacy.attacks.prior import BatchNormStatistics, Box, TotalVariation
from hekat.privacy.attacks.restarts import Restarts
from hekat.privacy.attacks.sent_update import LocalSteps, OneGradient, as_mean_gradient
from hekat.privacy.attacks.visible_update import VisibleUpdate

__all__ = [
    "Attack",
    "AttackedModel",
    "BatchNormStatistics",
    "Box",
    "CosineDistance",
    "LabelReading",
    "LastLayer",
    "LineSearch",
    "LocalSteps",
    "OneGradient",
    "Reconstruction",
    "Restarts",
    "SignedAdam",
    "SquaredDifference",
    "TotalVariation",
    "VisibleUpdate",
    "as_mean_gradient",
    "deep_leakage",
    "invert",
    "inverting_gradients",
    "leaky_lenet",
    "read_label",
    "read_labels",
]
