"""Sums of what several parties hold, which nobody sees in parts: masked, under Paillier, or in the clear."""
