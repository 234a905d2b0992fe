"""The cost of sums: their forms, their messages and the messages' bytes, known before a run."""
