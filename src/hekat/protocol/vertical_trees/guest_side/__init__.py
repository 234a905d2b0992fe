"""The guest in a training: its rows and labels, what hosts tell it, and the growth of trees over all columns."""
