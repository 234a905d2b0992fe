"""All roles of a training of trees across columns on this machine, with its comparison."""
