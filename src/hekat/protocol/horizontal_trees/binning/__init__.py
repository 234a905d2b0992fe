"""Bins that parties find together, from sums of counts over all their rows."""
