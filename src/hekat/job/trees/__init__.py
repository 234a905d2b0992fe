"""What job files of boosted trees have in common, across columns or across rows."""
