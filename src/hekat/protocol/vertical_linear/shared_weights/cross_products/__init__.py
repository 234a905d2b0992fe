"""Products of one party's numbers with the other party's, left in shares of both."""
