"""Measurements of updates that are smaller than the model."""
