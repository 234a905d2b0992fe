"""A network of squares whose weights, activations and slopes all lie in shares of guest and host: steps of a batch."""
