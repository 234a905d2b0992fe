"""Differential privacy in the report of a horizontal run: sentences, tables and a plot."""
