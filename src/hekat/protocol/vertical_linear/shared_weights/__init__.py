"""The form without an arbiter: weights lie in shares at two parties, and nobody sees a gradient."""
