"""Rounds with differential privacy: bounded terms, noised levels, and no sum beside them."""
