"""One role of a vertical run: its tables, checkpoints, and its part of the model."""
