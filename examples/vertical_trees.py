"""A clinic and a laboratory hold different measurements of the same tumours: boosted trees on all of them, encrypted.

The laboratory adds up gradients that it cannot read, by bins of its measurements; the clinic opens sums alone, and the
laboratory's thresholds stay there. The clinic knows every gradient, so that many sums tell it the bins of single rows:
the job has to say that this is accepted, or train fewer and smaller trees.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from hekat.estimator import VerticalGradientBoostingClassifier

data = load_breast_cancer()
X, y = data.data.copy(), data.target
# A tenth of one column was never measured: trees learn where such rows go.
X[np.random.default_rng(1).random(len(X)) < 0.1, 3] = np.nan
columns = {"clinic": slice(0, 10), "laboratory": slice(10, 30)}
train, test = np.arange(len(X)) % 4 != 0, np.arange(len(X)) % 4 == 0

same = {"max_iter": 30, "max_depth": 4, "max_bins": 32, "learning_rate": 0.2, "min_samples_leaf": 10}
model = VerticalGradientBoostingClassifier(
    columns=columns, bin_leak_accepted="the guest may learn bins of hosts", random_state=1, **same
)
model.fit(X[train], y[train])
losses = model.losses_
print("loss by iteration:", " ".join(f"{loss:.4f}" for loss in losses[::5]))
print(f"AUC of the encrypted training: {roc_auc_score(y[test], model.predict_proba(X[test])[:, 1]):.4f}")

for where, chosen in (("all columns in one place", slice(0, 30)), ("the clinic's columns alone", slice(0, 10))):
    plain = HistGradientBoostingClassifier(early_stopping=False, **same).fit(X[train, chosen], y[train])
    print(f"AUC of scikit-learn, {where}: {roc_auc_score(y[test], plain.decision_function(X[test, chosen])):.4f}")

print("\nImportance by party:")
for party, shares in model.feature_importances_.items():
    print(f"- {party}: {shares.sum():.2f} of all gain")
print("\nSeconds by part:")
for party, parts in model.seconds_by_part_.items():
    print(f"- {party}: " + ", ".join(f"{part} {seconds:.2f}" for part, seconds in sorted(parts.items())))
print("\nWhat the laboratory's ledger says that sums can tell:")
for note in model.ledgers_["laboratory"].notes:
    print(f"- {note.explanation or note.what}")
