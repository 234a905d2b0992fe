"""Joint prediction with the parts of one model of trees."""
