"""What sums take: their forms, their messages and the bytes of these, known before a run."""
