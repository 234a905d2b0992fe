"""Default jobs against scikit-learn's defaults on twelve data sets."""
