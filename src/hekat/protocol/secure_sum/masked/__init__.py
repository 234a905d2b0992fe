"""Sums of masked updates: ring-LWE masks that only the sum of the parties' fresh secrets takes away."""
