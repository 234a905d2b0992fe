"""What goes from a run to monitors: Prometheus reads it here, traces and MLflow are sent where the operator says."""
