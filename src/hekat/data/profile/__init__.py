"""What the rows of a source show of its columns, for whoever writes a job about them."""
