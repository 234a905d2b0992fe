"""All roles of a vertical run in this process, with its comparisons."""
