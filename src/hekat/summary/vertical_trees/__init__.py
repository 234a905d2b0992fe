"""The summary of a training of boosted trees across columns."""
