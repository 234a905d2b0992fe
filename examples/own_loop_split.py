"""Your own PyTorch loop for a network split by columns: a clinic with diagnoses, a laboratory with other measurements.

Both call forward and backward in each batch. What comes before and after z is their own; the laboratory's weights of z
lie in shares, and nothing opens to it. The clinic learns the laboratory's columns of these tumours but for a rotation.
"""

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from torch import nn

import hekat

EPOCHS, UNITS = 10, 16

data = load_breast_cancer()
X, y = data.data, torch.tensor(data.target, dtype=torch.float32)[:, None]
train, test = np.arange(len(X)) % 4 != 0, np.arange(len(X)) % 4 == 0
X = (X - X[train].mean(0)) / X[train].std(0)  # each column by itself: its owner can do so
X = torch.tensor(X, dtype=torch.float32).clamp(-5, 5)
columns = {"clinic": X[:, :10], "laboratory": X[:, 10:]}


def make_top():
    return nn.Sequential(nn.ReLU(), nn.Dropout(0.1), nn.Linear(UNITS, 1))


def train_at_clinic(party):
    torch.manual_seed(1)
    own, labels = columns["clinic"][train], y[train]
    bottom, top = nn.Linear(10, UNITS), make_top()
    optimiser = torch.optim.AdamW([*bottom.parameters(), *top.parameters()], lr=0.02)
    for epoch in party.epochs():
        total = 0.0
        for rows in party.batches():
            z = party.forward(bottom(own[rows]))
            loss = nn.functional.binary_cross_entropy_with_logits(top(z), labels[rows])
            optimiser.zero_grad()
            loss.backward()
            party.backward(z.grad)
            optimiser.step()
            total += loss.item() * len(rows)
        print(f"epoch {epoch}: loss {total / len(labels):.3f}")
    top.eval()
    with torch.no_grad():
        return top(party.evaluate(bottom(columns["clinic"][test]))).numpy()


def train_at_laboratory(party):
    own = columns["laboratory"][train]
    for _ in party.epochs():
        for rows in party.batches():
            party.forward(own[rows])
            party.backward()  # gives nothing: the columns themselves do not train
    party.evaluate(columns["laboratory"][test])


run = hekat.federate_split(
    train_at_clinic,
    {"laboratory": train_at_laboratory},
    row_count=int(train.sum()),
    host_widths=20,
    units=UNITS,
    epochs=EPOCHS,
    batch_rows=64,
    shared_rate=0.2,  # without it 0.08, which suits squared errors
    guest="clinic",
    column_leak_accepted="the guest may learn my columns but for a rotation",
)
print(run)

torch.manual_seed(1)
plain = nn.Sequential(nn.Linear(30, UNITS), make_top())
optimiser = torch.optim.AdamW(plain.parameters(), lr=0.02)
for _ in range(EPOCHS):
    for rows in torch.randperm(int(train.sum())).split(64):
        optimiser.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(plain(X[train][rows]), y[train][rows]).backward()
        optimiser.step()
plain.eval()
with torch.no_grad():
    scores = plain(X[test]).numpy()
print(f"\nAUC on {int(test.sum())} test rows")
print(f"  encrypted, split     {roc_auc_score(y[test], run.results['clinic']):.4f}")
print(f"  all in one place     {roc_auc_score(y[test], scores):.4f}")
