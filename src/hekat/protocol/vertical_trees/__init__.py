"""Boosted trees on columns at several parties: a guest with labels and hosts with other columns of the same rows."""
