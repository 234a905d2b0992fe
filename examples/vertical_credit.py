"""A bank and an insurer, each with columns of its own of partly the same people: who will not repay a loan?

1. the ids meet in a set intersection: both learn which of their rows both have, and nothing of the others
2. logistic regression with weights in shares: nobody sees a gradient or a weight
3. joint prediction on people nobody trained with: the bank learns the score and nothing else
4. the same in scikit-learn on one table with all columns, and scikit-learn's cross-validation of the encrypted training
"""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score

from hekat.data import Table
from hekat.estimator import VerticalLogisticRegression, find_common_rows
from hekat.paillier import generate_keys

BANK = ("income", "debt", "years_at_bank", "late_payments", "savings")
INSURER = ("age", "claims", "premium", "car_value")
# The smallest keys allowed, so that this takes seconds: leave key_bits out for 3072 bits, as in earnest.
SETTINGS = {"key_bits": 2048, "epochs": 8, "batch_rows": 128, "learning_rate": 0.3, "l2": 0.001}


def make_people(count, rng):
    """Columns of `count` people, and who did not repay: a matter of what the bank knows and what the insurer knows."""
    columns = np.hstack([rng.lognormal(size=(count, 5)), rng.gamma(2.0, size=(count, 4))])
    columns *= [3000, 9000, 4, 1, 7000, 20, 0.7, 400, 8000]
    standard = (columns - columns.mean(axis=0)) / columns.std(axis=0)
    score = standard @ [-0.9, 1.1, -0.4, 1.0, -0.6, -0.5, 1.2, 0.3, -0.4] - 0.8
    return columns, np.where(rng.random(count) < 1 / (1 + np.exp(-score)), "defaulted", "repaid")


rng = np.random.default_rng(7)
columns, outcome = make_people(1300, rng)
ids = np.array([f"person-{number:05d}" for number in rng.permutation(99999)[:1300]])
at_bank, at_insurer = rng.permutation(1300)[:1100], rng.permutation(1300)[:1100]
bank = Table(columns[at_bank, :5], outcome[at_bank], BANK, "bank", ids=ids[at_bank].tolist())
insurer = Table(columns[at_insurer, 5:], None, INSURER, "insurer", ids=ids[at_insurer].tolist())

found = find_common_rows({"bank": bank, "insurer": insurer})
common = found.tables
print(f"bank {len(bank)} people, insurer {len(insurer)}, both {len(common['bank'])}")

train = {name: table.take(np.arange(600)) for name, table in common.items()}
test = {name: table.take(np.arange(600, len(table))) for name, table in common.items()}
# The rows of both are the same people now, row by row: no need to look again.
model = VerticalLogisticRegression(intersection=None, **SETTINGS).fit(train)
print("loss by epoch:", " ".join(f"{loss:.4f}" for loss in model.losses_))
scores = model.decision_function(test)
print(f"AUC of the encrypted training: {roc_auc_score(test['bank'].labels, scores):.4f}")


def join(tables):
    """All columns in one place, which is what the encryption is there to avoid."""
    return np.hstack([tables["bank"].features, tables["insurer"].features])


center, spread = join(train).mean(axis=0), join(train).std(axis=0)
x_train, x_test = (join(train) - center) / spread, (join(test) - center) / spread
for what, count in (("scikit-learn, all columns in one place", 9), ("scikit-learn, the bank's columns alone", 5)):
    plain = LogisticRegression().fit(x_train[:, :count], train["bank"].labels)
    plain_scores = plain.decision_function(x_test[:, :count])
    print(f"AUC of {what}: {roc_auc_score(test['bank'].labels, plain_scores):.4f}")

# One array, and who holds which of its columns: what scikit-learn does with any estimator. Here all is one machine's,
# so that the folds may share keys; without keys= every fit and every prediction makes fresh ones.
keys = {name: generate_keys(2048) for name in ("bank", "insurer")}
estimator = VerticalLogisticRegression(columns={"bank": slice(0, 5), "insurer": slice(5, 9)}, keys=keys, **SETTINGS)
folds = cross_val_score(estimator, join(train), train["bank"].labels, cv=3, scoring="roc_auc")
print("AUC of 3 folds:", " ".join(f"{fold:.4f}" for fold in folds))

print("\nWhat the bank learned in training and in prediction:")
for ledger in (model.ledgers_["bank"], model.prediction_ledgers_["bank"]):
    for row in ledger.learned:
        if row.disclosure_class == "disclosed":
            print(f"- {row.kind} {row.field}: {row.explanation}")
    for note in ledger.notes:
        print(f"- {note.what}")
