"""Re-weighting: one Newton step from the Taylor loss to the log loss, on rows whose scores the guest knows."""
