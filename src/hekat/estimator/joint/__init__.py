"""Estimators whose model is trained in steps on columns of several parties: training, prediction, answers."""
