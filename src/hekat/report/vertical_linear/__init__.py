"""The report of a vertical regression."""
