"""Horizontal training: parties with the same columns and different rows train one model on encrypted sums."""
