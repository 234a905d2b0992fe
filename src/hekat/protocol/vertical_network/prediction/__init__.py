"""Joint prediction with the parts of a split network."""
