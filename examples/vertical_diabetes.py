"""A clinic and two registers, each with columns of its own of the same patients: how far will diabetes progress?

Linear regression with an arbiter: it holds the key and opens gradients under masks that it does not know, so that it
learns nothing of them; each party sees its own gradient. That gives a party equations on what the others hold, so a job
with too few rows in a batch is refused: 442 rows are enough as one batch.
"""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_score

from hekat.estimator import VerticalLinearRegression

X, y = load_diabetes(return_X_y=True, scaled=False)
columns = {"clinic": [0, 1, 2, 3], "laboratory": [4, 5, 6, 7], "pharmacy": [8, 9]}
train, test = np.arange(442) % 4 != 0, np.arange(442) % 4 == 0

model = VerticalLinearRegression(
    columns=columns,
    arbiter="arbiter",
    # The smallest key allowed, so that this takes seconds: leave it out for 3072 bits, as in earnest.
    key_bits=2048,
    epochs=8,
    batch_rows=0,
    learning_rate=0.4,
)
model.fit(X[train], y[train])
print("loss by epoch:", " ".join(f"{loss:.4f}" for loss in model.losses_))
print(f"R2 of the encrypted training: {model.score(X[test], y[test]):.4f}")
plain = LinearRegression().fit(X[train], y[train])
print(f"R2 of scikit-learn, all columns in one place: {plain.score(X[test], y[test]):.4f}")

folds = cross_val_score(model, X, y, cv=KFold(2, shuffle=True, random_state=1))
print("R2 of 2 folds:", " ".join(f"{fold:.4f}" for fold in folds))

print("\nSeconds by part:")
for party, parts in model.seconds_by_part_.items():
    print(f"- {party}: " + ", ".join(f"{part} {seconds:.2f}" for part, seconds in sorted(parts.items())))
