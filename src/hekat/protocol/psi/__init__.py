"""Private set intersection: parties find the rows that they have in common, and learn nothing else of each other's."""
