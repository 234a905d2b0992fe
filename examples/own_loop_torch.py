"""Your own PyTorch loop, federated and encrypted: three parties with handwritten digits, one call a round."""

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

import hekat

ROUNDS = 10
PARTIES = {"north": 500, "lake": 300, "county": 120}  # rows of each

pixels, digits = load_digits(return_X_y=True)
pixels, test_pixels, digits, test_digits = train_test_split(
    (pixels / 16).astype(np.float32), digits, test_size=400, random_state=0, stratify=digits
)
cuts = np.cumsum(list(PARTIES.values()))
rows = {
    name: (torch.from_numpy(images), torch.from_numpy(labels))
    for name, images, labels in zip(PARTIES, np.split(pixels, cuts), np.split(digits, cuts), strict=False)
}


def make_model():
    torch.manual_seed(1)  # all parties begin with the same weights
    return nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 10))


def train_one_epoch(model, own_rows):
    images, labels = own_rows
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    model.train()
    for batch in torch.randperm(len(labels)).split(32):
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(images[batch]), labels[batch]).backward()
        optimiser.step()


def train_at(party):  # runs once for each party
    party.check_same("make_model", make_model)
    model = make_model()
    for _ in range(ROUNDS):
        train_one_epoch(model, rows[party.name])
        model.load_state_dict(party.aggregate(model.state_dict(), weight=len(rows[party.name][1])))
    return model


def accuracy(model):
    model.eval()
    with torch.no_grad():
        return (model(torch.from_numpy(test_pixels)).argmax(1).numpy() == test_digits).mean()


run = hekat.federate(train_at, list(PARTIES))
print(run)
plain = hekat.federate(train_at, list(PARTIES), protection="none")  # for comparison only: says so, loudly

print(f"\naccuracy on {len(test_digits)} test rows")
print(f"  encrypted federated  {accuracy(run.results['north']):.1%}")
print(f"  plain federated      {accuracy(plain.results['north']):.1%}")
for name in PARTIES:
    alone = make_model()
    for _ in range(ROUNDS):
        train_one_epoch(alone, rows[name])
    print(f"  {name + ' alone':<19}  {accuracy(alone):.1%}")
