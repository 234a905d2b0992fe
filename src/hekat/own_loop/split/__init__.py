"""A training loop of one's own for a network split by columns: two calls a batch, forward and backward, no job file."""
