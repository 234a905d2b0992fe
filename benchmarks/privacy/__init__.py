"""What the benchmark of differential privacy trains: central DP-SGD, and jobs with privacy beside it."""
