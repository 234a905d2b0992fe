"""What roles compute a round with, one file for each protection; all give the same numbers."""
