"""The summary of a set intersection."""
