"""Batched modular and multi-precision integer arithmetic; engines know nothing of keys or of what numbers mean."""
