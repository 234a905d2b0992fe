"""A classifier in NumPy and each hospital's rows: nothing here knows of Flower or Hekat."""

import numpy as np

HOSPITALS = 3
FEATURES = 30
EPOCHS = 5


def make_model():
    """The model that everybody starts from."""
    return {"weight": np.zeros(FEATURES, np.float32), "bias": np.zeros(1, np.float32)}


def load_rows(hospital):
    """(features, labels) of a hospital to train on, and the same to measure on, in the scales of its own rows."""
    # Here, not above: each message to a hospital gets a process, and most messages of a round need no rows.
    from sklearn.datasets import load_breast_cancer

    features, labels = load_breast_cancer(return_X_y=True)
    features = np.log1p(features).astype(np.float32)
    order = np.random.default_rng(7).permutation(len(labels))
    # 100, 150 and 200 rows; the rest is for everybody to measure on.
    first, last = [(0, 100), (100, 250), (250, 450)][hospital]
    own, test = order[first:last], order[450:]
    features = (features - features[own].mean(axis=0)) / features[own].std(axis=0)
    return (features[own], labels[own]), (features[test], labels[test])


def _scores(model, features):
    return 1 / (1 + np.exp(-(features @ model["weight"] + model["bias"][0])))


def train(model, features, labels, learning_rate):
    """Some epochs of gradient descent on the logistic loss; the model and its loss."""
    weight, bias = model["weight"].copy(), model["bias"].copy()
    for _ in range(EPOCHS):
        errors = _scores({"weight": weight, "bias": bias}, features) - labels
        weight -= learning_rate * (features.T @ errors / len(labels)).astype(np.float32)
        bias -= np.float32(learning_rate * errors.mean())
    return {"weight": weight, "bias": bias}, loss_of({"weight": weight, "bias": bias}, features, labels)


def loss_of(model, features, labels):
    """The mean logistic loss."""
    scores = np.clip(_scores(model, features), 1e-6, 1 - 1e-6)
    return float(-np.mean(labels * np.log(scores) + (1 - labels) * np.log(1 - scores)))


def accuracy_of(model, features, labels):
    """The part of the rows that the model classifies rightly."""
    return float(np.mean((_scores(model, features) > 0.5) == labels))
