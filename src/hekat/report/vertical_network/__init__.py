"""How a training of a split network is shown."""
