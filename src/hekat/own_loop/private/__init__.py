"""Noised means in a training loop of one's own: bounded parts, noise in integers, and what they cost together."""
