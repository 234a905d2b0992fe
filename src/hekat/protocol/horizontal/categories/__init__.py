"""Categories that parties with the same columns find together, by one sum."""
