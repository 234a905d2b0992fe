"""The job file of a training on an encrypted model, and what a site lets it ask for."""
