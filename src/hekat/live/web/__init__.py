"""The page's server: what it lets in, what it answers, and the thread that it runs in."""
