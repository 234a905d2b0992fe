"""The loop of FLASH's five networks: parties train a PyTorch module on rows of their own, every update encrypted."""

import argparse
from pathlib import Path

import numpy as np
import torch
from torch import nn

import hekat


def train(make_module, load_rows, *, rounds, steps, batch_rows=16, make_optimiser):
    """Train by the command line's parties and print what it cost, with the loss on test rows before and after.

    `load_rows(folder)` gives train and test rows, each a pair of inputs and labels; `steps` batches make a round.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, help="real data in place of what comes with scikit-learn or this folder")
    parser.add_argument("--parties", type=int, default=3, help="three or more")
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--protection", choices=["lattice", "none"], default="lattice", help="none to compare")
    options = parser.parse_args()
    (inputs, labels), test_rows = load_rows(options.data)
    names = [f"party-{number + 1}" for number in range(options.parties)]
    order = torch.from_numpy(np.random.default_rng(0).permutation(len(labels)))
    own_rows = dict(zip(names, order.tensor_split(len(names)), strict=True))

    def train_at(party):  # runs once for each party
        party.check_same("the module", make_module)
        torch.manual_seed(1)  # all begin with the same weights
        module = make_module()
        party.start_from(module)
        before, own = measure(module, test_rows), own_rows[party.name]
        optimiser = make_optimiser(module.parameters())
        for _ in range(options.rounds):
            module.train()
            for rows in own[torch.randint(len(own), (steps, batch_rows))]:
                nn.functional.cross_entropy(module(inputs[rows]), labels[rows]).backward()
                optimiser.step()
                optimiser.zero_grad()
            module = party.aggregate(module, weight=len(own))
        return before, measure(module, test_rows)

    with torch.device("meta"):
        count = sum(parameter.numel() for parameter in make_module().parameters())
    print(
        f"{make_module.__name__}: {count:,} parameters, {len(names)} parties, {steps} batches of {batch_rows} a round"
    )
    run = hekat.federate(train_at, names, protection=options.protection)
    print(run)
    before, after = run.results[names[0]]
    print(f"\non {len(test_rows[1])} test rows")
    for when, (loss, share) in (("before", before), ("after", after)):
        print(f"  {when}: loss {loss:.3f}, right {share:.1%}")


@torch.no_grad()
def measure(module, rows):
    """Mean cross entropy, and the share of labels that are right."""
    module.eval()
    inputs, labels = rows
    scores = module(inputs)
    return nn.functional.cross_entropy(scores, labels).item(), (scores.argmax(1) == labels).float().mean().item()
