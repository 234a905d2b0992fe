"""The guest's side of a training: labels, its own networks, and its addends of the shared layer."""
