"""Means that a caller's mask divides: what the mask may be, and what is said of it."""
