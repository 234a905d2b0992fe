"""One role of a set intersection: its ids, and its own common rows."""
