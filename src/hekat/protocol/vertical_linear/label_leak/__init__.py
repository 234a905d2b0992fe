"""What gradients tell of labels and columns, and the rules that refuse a job with an arbiter for it."""
