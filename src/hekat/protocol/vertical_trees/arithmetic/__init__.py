"""What guest and hosts compute with: one interface for ciphertexts and for numbers in the clear; equal sums."""
