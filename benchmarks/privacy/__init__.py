"""What benchmarks of differential privacy train, and measurements of what a model tells of rows."""
