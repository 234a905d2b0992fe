"""A PyTorch loop that protects a tenth of each update and sends the rest in the clear, beside one that protects all."""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

import hekat
from hekat.privacy import MaskRules, sensitivity_map

ROUNDS = 5
PARTIES = {"north": 500, "lake": 300, "county": 120}  # rows of each

pixels, digits = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(digits))
pixels, digits = torch.from_numpy(pixels[order] / 16).float(), torch.from_numpy(digits[order])
starts = np.cumsum([0, *PARTIES.values()])
rows = {name: slice(first, first + PARTIES[name]) for name, first in zip(PARTIES, starts, strict=False)}
test = slice(starts[-1], None)


def make_model():
    torch.manual_seed(1)  # all parties begin with the same weights
    return nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 10))


def train_one_epoch(model, own):
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    model.train()
    for batch in torch.randperm(PARTIES[own]).split(32):
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(pixels[rows[own]][batch]), digits[rows[own]][batch]).backward()
        optimiser.step()


def train_in_part(party):
    model, row_count = make_model(), PARTIES[party.name]
    found = sensitivity_map(model, pixels[rows[party.name]], digits[rows[party.name]])
    mask = party.agree_on_mask(found, MaskRules(0.1), weight=row_count)
    for _ in range(ROUNDS):
        train_one_epoch(model, party.name)
        party.aggregate(model, weight=row_count, mask=mask)
    return model


def train_whole(party):
    model = make_model()
    for _ in range(ROUNDS):
        train_one_epoch(model, party.name)
        party.aggregate(model, weight=PARTIES[party.name])
    return model


for train in (train_in_part, train_whole):
    torch.manual_seed(2)
    run = hekat.federate(train, list(PARTIES))
    print(run, end="\n\n")
    model = run.results["north"].eval()
    correct = (model(pixels[test]).argmax(1) == digits[test]).float().mean()
    print(f"{train.__name__}: {correct:.1%} of {len(digits[test])} test rows\n")
