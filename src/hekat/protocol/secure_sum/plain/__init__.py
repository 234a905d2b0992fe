"""Sums with nothing encrypted, for comparison."""
