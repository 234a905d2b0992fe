"""The summary of a training on an encrypted model."""
