"""Boosted trees across rows: parties with the same columns sum histograms, and grow the same trees from the sums."""
