"""A network split by columns: bottom models at each party, labels and the top model at the guest."""
