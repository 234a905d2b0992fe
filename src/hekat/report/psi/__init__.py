"""The report of a set intersection that stands alone."""
