"""Work of the first day with own data: tables to a model, a million rows, two hundred parties."""
