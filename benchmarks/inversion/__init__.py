"""What attacks read of masked updates: FedML-HE's figures 13 and 14, labels, texts."""
