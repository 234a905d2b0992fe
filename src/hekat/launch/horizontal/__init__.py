"""All roles of a horizontal run in this process, with its comparisons."""
