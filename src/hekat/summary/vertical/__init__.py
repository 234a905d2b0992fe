"""What summaries of all runs on columns have in common: roles, matched rows, bytes, seconds, caveats."""
