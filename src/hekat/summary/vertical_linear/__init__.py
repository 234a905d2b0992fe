"""The summary of a vertical run."""
