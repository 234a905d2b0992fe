"""The calls of a loop: what a party tells the aggregator of each, and how the aggregator compares them."""
