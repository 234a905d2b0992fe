"""One role of a training of boosted trees across columns: its tables, checkpoints, and its part of the model."""
