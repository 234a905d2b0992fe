"""What summaries of boosted trees have in common, across columns or across rows: losses, importance, drawn trees."""
