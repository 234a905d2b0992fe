"""All roles of a training of a split network on this machine, with its comparison."""
