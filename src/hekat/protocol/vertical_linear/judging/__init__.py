"""Every rule of a training, judged before it on the rows of all parties, and cures judged by the same rules."""
