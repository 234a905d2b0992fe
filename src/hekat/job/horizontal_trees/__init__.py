"""The job file of boosted trees across rows, and what a site lets it ask for."""
