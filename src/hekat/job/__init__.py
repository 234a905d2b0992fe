"""Job and site files, and what a site allows."""
