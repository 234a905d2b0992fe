"""One role of a training of a split network: its tables, checkpoints, and its part of the model."""
