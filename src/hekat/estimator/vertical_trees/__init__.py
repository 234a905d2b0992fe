"""Gradient boosting on columns of several parties, in the shape of scikit-learn."""
