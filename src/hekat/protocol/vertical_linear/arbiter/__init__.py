"""The form with an arbiter, who alone holds the key and opens masked gradients (Hardy et al. 2017)."""
