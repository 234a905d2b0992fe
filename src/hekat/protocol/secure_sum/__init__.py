"""Sums over several parties, none of whose parts is shown: masked, under Paillier, or (for comparison) in the clear."""
