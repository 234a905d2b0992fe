"""`hekat attack`: what would be readable of a model's update, at which mask."""
