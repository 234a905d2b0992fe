"""Batched modular and multi-precision integer arithmetic: no keys and no meaning."""
