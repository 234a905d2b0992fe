"""Trees across rows with differential privacy: random splits that are public, and noised sums of leaves alone."""
