"""What trees across rows leave behind, and what summaries tell of them."""
