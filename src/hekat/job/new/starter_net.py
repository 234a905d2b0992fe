"""The code of a first PyTorch model, to be edited: what `hekat init --model torch` writes beside the site file."""

from __future__ import annotations

STARTER_NET = '''"""The network that the parties train; every party has this file, letter by letter. Edit `build`."""

from torch import nn


def build(column_count: int, output_count: int, hidden: int = 16) -> nn.Module:
    """Maps rows of `column_count` numbers to a number for each class, or to one number in a regression.

    Hekat gives the two counts, the site file the rest. What follows at random follows from model.seed of the job.
    """
    return nn.Sequential(nn.Linear(column_count, hidden), nn.ReLU(), nn.Linear(hidden, output_count))
'''
