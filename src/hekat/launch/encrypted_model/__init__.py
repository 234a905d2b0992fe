"""Runs of a training on an encrypted model: all roles in this process, or each in one of its own."""
