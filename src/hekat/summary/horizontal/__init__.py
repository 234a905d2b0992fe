"""The summary of a horizontal run."""
