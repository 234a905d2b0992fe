"""Runs whose roles are processes: over mailboxes, as between organisations, on links of a stated speed."""
