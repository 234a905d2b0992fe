"""How a training of trees across columns is shown."""
