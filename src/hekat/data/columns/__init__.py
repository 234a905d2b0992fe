"""Columns of a table: which of them are used, what their public description is, and how they become features."""
