"""What one role of any run on columns does on its machine: tables, matched rows, checkpoints, counted predictions."""
