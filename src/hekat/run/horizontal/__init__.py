"""One role of a horizontal run: its tables, states, checkpoints and the trained model."""
