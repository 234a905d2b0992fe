"""The report of a training on an encrypted model."""
