"""A training loop's roles beside Flower: party processes, couriers, and the aggregator within a strategy.

Needs the extra `flower`; nothing outside imports `mod`, `strategy`, `grid_post`, `records` or `terms` without it."""
