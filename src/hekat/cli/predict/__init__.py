"""`hekat predict`: with one's own rows, or jointly with the parts of a vertical model."""
