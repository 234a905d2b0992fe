"""Linear and logistic regression on rows at several hosts, who train a model that they cannot read."""
