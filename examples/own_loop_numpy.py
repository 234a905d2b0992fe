"""Your own NumPy loop, federated and encrypted: a linear model of progressing diabetes from three clinics' rows."""

import numpy as np
from sklearn.datasets import load_diabetes

import hekat

ROUNDS = 30
CLINICS = ["north", "lake", "county"]

features, progress = load_diabetes(return_X_y=True, scaled=True)
features = features * np.sqrt(len(features))  # columns of spread 1
progress = (progress - 152) / 77
rows = {name: (features[number:342:3], progress[number:342:3]) for number, name in enumerate(CLINICS)}
test_features, test_progress = features[342:], progress[342:]


def train_at(party):
    own_features, own_progress = rows[party.name]
    state = {"weights": np.zeros(10), "offset": np.zeros(())}
    for _ in range(ROUNDS):
        for _ in range(5):  # five steps of gradient descent on the clinic's own rows
            error = own_features @ state["weights"] + state["offset"] - own_progress
            state["weights"] = state["weights"] - 0.1 * own_features.T @ error / len(error)
            state["offset"] = state["offset"] - 0.1 * error.mean()
        state = party.aggregate(state, weight=len(own_progress))
    return state


run = hekat.federate(train_at, CLINICS, weight_max=1000)
print(run)

found = run.results["north"]
together = np.linalg.lstsq(np.c_[features[:342], np.ones(342)], progress[:342], rcond=None)[0]
for what, weights, offset in (
    ("three clinics, encrypted", found["weights"], found["offset"]),
    ("all rows in one place   ", together[:-1], together[-1]),
):
    error = test_features @ weights + offset - test_progress
    print(f"{what}  mean squared error on {len(error)} test rows: {np.mean(error**2):.4f}")
