"""Sums under one Paillier key that all parties hold and the aggregator does not."""
