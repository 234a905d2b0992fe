"""Split networks on columns of several parties, in the shape of scikit-learn."""
