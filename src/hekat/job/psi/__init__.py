"""Jobs of one set intersection by itself: which records parties share, and nothing trained on them."""
