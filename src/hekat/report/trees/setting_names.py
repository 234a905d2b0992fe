"""What a report calls the settings by which trees are grown."""

from typing import Final

TRAINING_NAMES: Final = {
    "max_iter": "iterations, at most",
    "learning_rate": "learning rate",
    "max_depth": "splits from root to leaf, at most",
    "max_leaf_nodes": "leaves of a tree, at most",
    "l2_regularization": "L2 penalty of leaves",
    "min_gain": "gain of a split, at least",
    "min_child_weight": "sum of second derivatives of a leaf, at least",
    "max_bins": "bins of a column, at most",
    "gradient_bits": "bits of a gradient as it is summed",
    "rounding": "how gradients are rounded",
    "subsample": "part of the rows in an iteration",
    "max_features": "part of the columns in an iteration",
    "early_stopping": "rows held out end training",
    "validation_fraction": "part of the training rows held out for that",
    "n_iter_no_change": "iterations without gain that end training",
    "tol": "least fall of the loss that counts as gain",
    "seed": "seed of samples and of rounding",
}
