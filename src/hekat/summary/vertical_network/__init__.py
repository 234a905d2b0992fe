"""The summary of a training of a split network."""
