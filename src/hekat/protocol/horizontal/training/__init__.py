"""Training by rounds: local work, the server step, clipping, standardising and validation."""
