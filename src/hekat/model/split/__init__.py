"""Halves of networks that several parties hold: bottoms from columns to features, a top from features to outputs."""

from hekat.model.split.bottom import Bottom, BottomMaker, BottomTask
from hekat.model.split.dense_bottom import dense_bottom
from hekat.model.split.dense_top import DenseTop
from hekat.model.split.fixed_maps import affine_map, principal_components, random_features, source_columns
from hekat.model.split.losses import NumberLoss, TargetLoss, make_loss
from hekat.model.split.module_bottom import module_bottom
from hekat.model.split.module_top import module_top
from hekat.model.split.top import DENSE, MODULE, Top, TopMaker, TopTask
from hekat.model.split.trained_tensors import TrainedTensors

__all__ = [
    "DENSE",
    "MODULE",
    "Bottom",
    "BottomMaker",
    "BottomTask",
    "DenseTop",
    "NumberLoss",
    "TargetLoss",
    "Top",
    "TopMaker",
    "TopTask",
    "TrainedTensors",
    "affine_map",
    "dense_bottom",
    "make_loss",
    "module_bottom",
    "module_top",
    "principal_components",
    "random_features",
    "source_columns",
]
