"""Paillier key pairs: how they are made and proven, and what each key precomputes and keeps for its operations."""
