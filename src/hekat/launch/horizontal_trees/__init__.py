"""Runs of trees across rows: all roles in this process."""
