"""What a run shows while it goes on: a page on loopback, metrics, traces. It reads what runs say."""
