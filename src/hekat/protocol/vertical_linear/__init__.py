"""Linear and logistic regression on columns of the same people that lie at different parties."""
