"""Linear and logistic regression on columns that several parties hold of the same people."""
