"""Scores of a host's rows by a model that no role reads."""
