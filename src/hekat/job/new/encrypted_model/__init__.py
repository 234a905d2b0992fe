"""A new job whose hosts train a model that they cannot read: what it is to be, and the text of its files."""
