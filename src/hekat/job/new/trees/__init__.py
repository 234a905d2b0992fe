"""What `hekat init` writes of jobs of boosted trees, across columns and across rows."""
