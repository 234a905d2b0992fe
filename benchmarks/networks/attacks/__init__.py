"""Attacks on a split network: what a host finds of labels, and a guest of columns."""
