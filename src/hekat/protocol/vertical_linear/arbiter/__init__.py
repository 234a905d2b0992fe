"""The form with an arbiter: only the arbiter holds the key, and it opens masked gradients (Hardy et al. 2017)."""
