"""A clinic and a laboratory hold different measurements of the same tumours: one network on all of them, encrypted.

The laboratory's side of the network lies in shares, and no gradient opens to it, so it learns nothing of diagnoses.
The clinic learns the laboratory's fixed features of these tumours but for a rotation: the laboratory has to say in
words that it accepts that.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hekat.estimator import VerticalNetworkClassifier

data = load_breast_cancer()
X, y = data.data, data.target
columns = {"clinic": slice(0, 10), "laboratory": slice(10, 30)}
train, test = np.arange(len(X)) % 4 != 0, np.arange(len(X)) % 4 == 0

model = VerticalNetworkClassifier(
    columns=columns,
    column_leak_accepted="the guest may learn my columns but for a rotation",
    units=16,
    guest_width=8,
    host_width=16,
    epochs=10,
    batch_rows=64,
    learning_rate=0.02,
)
model.fit(X[train], y[train])
print("loss by epoch:", " ".join(f"{loss:.3f}" for loss in model.losses_))
print(f"AUC of the encrypted training: {roc_auc_score(y[test], model.predict_proba(X[test])[:, 1]):.4f}")

for where, chosen in (("all columns in one place", slice(0, 30)), ("the clinic's columns alone", slice(0, 10))):
    plain = make_pipeline(StandardScaler(), MLPClassifier((16,), max_iter=1000, tol=1e-3, random_state=1))
    plain.fit(X[train, chosen], y[train])
    scores = plain.predict_proba(X[test, chosen])[:, 1]
    print(f"AUC of scikit-learn, {where}: {roc_auc_score(y[test], scores):.4f}")

print("\nSeconds by part:")
for party, parts in model.seconds_by_part_.items():
    print(f"- {party}: " + ", ".join(f"{part} {seconds:.2f}" for part, seconds in sorted(parts.items())))
print("\nWhat the laboratory's ledger says of the clinic:")
for note in model.ledgers_["laboratory"].notes:
    print(f"- {note.explanation or note.what}")
