"""Three sites train one dense network, plain or encrypted."""
