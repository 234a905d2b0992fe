"""What parties agree on beside the sums, with the aggregator or among themselves: clipping bounds and models."""
