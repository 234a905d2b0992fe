"""Paillier key pairs: their making, their proof, and the constants that each key precomputes and keeps."""
