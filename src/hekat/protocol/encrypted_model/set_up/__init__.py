"""What hosts and aggregator agree on before the first round."""
