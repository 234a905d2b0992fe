"""Gradient-boosted trees on binned columns: one growth for plain tables, columns apart and rows apart."""

from hekat.model.trees.bin_sums import (
    GRADIENTS,
    HESSIANS,
    ROWS,
    BinSums,
    concatenate_columns,
    concatenate_nodes,
    regroup,
    subtract_from_parent,
)
from hekat.model.trees.binned_table import BinnedTable, bin_rows, bin_table
from hekat.model.trees.boosting import BoostedTrees, BoostingSource, IterationLoss, boost, should_stop
from hekat.model.trees.column_bins import ColumnBins, find_bins
from hekat.model.trees.growth import HistogramSource, grow_trees
from hekat.model.trees.joining import JoinedBins, join_root_bins, join_small_bins
from hekat.model.trees.local_columns import LocalColumns
from hekat.model.trees.local_sums import count_bins, sum_bins
from hekat.model.trees.node import AskedNode, NodeId, Split
from hekat.model.trees.objective import BinaryLogLoss, Objective, SoftmaxLogLoss, SquaredError, make_objective
from hekat.model.trees.plain import PlainRun, PlainSource, check_row_count, sum_rows, train_plain
from hekat.model.trees.rounding import GradientLevels, round_gradients
from hekat.model.trees.sampling import hold_out_rows, rounding_generator, sample_columns, sample_rows
from hekat.model.trees.settings import TreeTraining
from hekat.model.trees.split_search import BestSplits, find_best_splits
from hekat.model.trees.tree import BIN_PLACES, Tree, TreeEnsemble

__all__ = [
    "BIN_PLACES",
    "GRADIENTS",
    "HESSIANS",
    "ROWS",
    "AskedNode",
    "BestSplits",
    "BinSums",
    "BinaryLogLoss",
    "BinnedTable",
    "BoostedTrees",
    "BoostingSource",
    "ColumnBins",
    "GradientLevels",
    "HistogramSource",
    "IterationLoss",
    "JoinedBins",
    "LocalColumns",
    "NodeId",
    "Objective",
    "PlainRun",
    "PlainSource",
    "SoftmaxLogLoss",
    "Split",
    "SquaredError",
    "Tree",
    "TreeEnsemble",
    "TreeTraining",
    "bin_rows",
    "bin_table",
    "boost",
    "check_row_count",
    "concatenate_columns",
    "concatenate_nodes",
    "count_bins",
    "find_best_splits",
    "find_bins",
    "grow_trees",
    "hold_out_rows",
    "join_root_bins",
    "join_small_bins",
    "make_objective",
    "regroup",
    "round_gradients",
    "rounding_generator",
    "sample_columns",
    "sample_rows",
    "should_stop",
    "subtract_from_parent",
    "sum_bins",
    "sum_rows",
    "train_plain",
]
