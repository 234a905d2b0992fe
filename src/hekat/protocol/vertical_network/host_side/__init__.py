"""A host's side of a training: its columns, its bottom, and its addend of the shared layer."""
