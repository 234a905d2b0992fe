"""The form with an arbiter: it alone holds the key, and opens masked gradients (Hardy et al. 2017)."""
