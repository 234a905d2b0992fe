"""What holds for all sums of a group: one set of parties, and with a committee one secret of each."""
