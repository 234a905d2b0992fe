"""What all protocols of a guest and hosts with other columns of the same rows share: matching, held-out rows, limit."""
