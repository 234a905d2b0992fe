"""What the summary of a run says, in plain tables."""
