"""All roles of a set intersection in this process."""
