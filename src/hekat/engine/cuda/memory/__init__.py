"""The memory of a GPU: the order in which threads use it, copies to and from it, and results that stay there."""
