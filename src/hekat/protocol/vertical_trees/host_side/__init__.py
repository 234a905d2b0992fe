"""A host in a training: its columns, the levels that the guest leads it through, and what sums tell of it."""
