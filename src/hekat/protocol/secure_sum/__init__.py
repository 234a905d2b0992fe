"""Sums over several parties that show no party's part: masked, under Paillier, or (for comparison) in the clear."""
