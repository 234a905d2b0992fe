"""The memory of a GPU: the order in which threads use it, copies to and from it, and what stays there."""
