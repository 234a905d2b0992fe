"""The report of a horizontal run."""
