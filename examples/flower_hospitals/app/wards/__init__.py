"""Three hospitals train one classifier."""
