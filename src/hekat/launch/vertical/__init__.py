"""What launching all roles of a run on columns has in common, whatever is trained."""
