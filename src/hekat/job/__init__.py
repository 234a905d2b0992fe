"""Job and site files, what a site allows, and the run that joins them."""
