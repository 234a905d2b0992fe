"""Agreements of the parties besides the sums, with the aggregator or among themselves: clipping bounds and models."""
