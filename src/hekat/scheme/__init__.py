"""Homomorphic encryption schemes: integers in, ciphertexts out; no floats, no messages, no parties."""
