"""How boosted trees across rows are shown."""
