"""The page and the tables of `hekat attack`: what was readable at which mask."""
