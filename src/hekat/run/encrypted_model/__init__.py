"""One role of a training on an encrypted model: its rows, its rounds, its checkpoints, and the owner's model."""
