"""What job files have in common whose parties hold rows with the same columns, whatever they train."""
