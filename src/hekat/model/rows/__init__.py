"""Gradients of single rows: bounded one by one, and then summed."""
