"""Protocols: one blocking function per role, read from top to bottom; none knows a network."""
