"""How well five parties train that send a part of each update, by how they agree on the part."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from training.data import load_mnist
from vertical.data import read_credit

PARTIES = ("a", "b", "c", "d", "e")
SHARES = (0.01, 0.05, 0.1)
WAYS = ("vote", "random_k", "top_k")
# How unlike the parties' rows are: parts of each label are drawn from a Dirichlet distribution with this number.
UNLIKENESS = 0.5
BATCH_ROWS, RATE = 32, 0.1


@dataclass(frozen=True)
class Workload:
    """`batches` local steps a round."""

    name: str
    train: tuple[Tensor, Tensor]
    test: tuple[Tensor, Tensor]
    hidden: tuple[int, ...]
    rounds: int
    batches: int = 10

    def make_model(self, seed: int) -> nn.Sequential:
        """The same first weights for the same seed."""
        torch.manual_seed(seed)
        sizes = (self.train[0].shape[1], *self.hidden)
        layers = [part for i, o in pairwise(sizes) for part in (nn.Linear(i, o), nn.ReLU())]
        return nn.Sequential(*layers, nn.Linear(sizes[-1], int(self.train[1].max()) + 1))


def measure_agreement(folder: Path, say: Callable[[str], object], *, seeds: int) -> Iterator[dict[str, Any]]:
    """A row for each data set, share and way: means over seeds."""
    torch.set_num_threads(1)
    for workload in (_mnist(folder), _credit(folder)):
        cases = [(1.0, "vote"), *((share, way) for share in SHARES for way in WAYS)]
        for share, way in cases:
            found = [_train(workload, share, way, seed) for seed in range(seeds)]
            row = {"data": workload.name, "keep": share, "way": way if share < 1 else "all", "seeds": seeds}
            row |= {name: statistics.fmean(one[name] for one in found) for name in ("loss", "accuracy", "up_bytes")}
            row |= {"rounds": workload.rounds, "values": found[0]["values"], "parties": len(PARTIES)}
            say(f"{row['data']}, keep {share:g} by {row['way']}: loss {row['loss']:.4f}, {row['up_bytes']:.0f} bytes")
            yield row


def _train(workload: Workload, share: float, way: str, seed: int) -> dict[str, float]:
    import hekat

    rows = _share_rows(workload.train[1].numpy(), seed)

    def play(party: Any) -> nn.Module:
        model, own = workload.make_model(seed), rows[PARTIES.index(party.name)]
        party.start_from(model)
        draw = np.random.default_rng([seed, PARTIES.index(party.name)])
        for _ in range(workload.rounds):
            optimiser = torch.optim.SGD(model.parameters(), lr=RATE)
            for _ in range(workload.batches):
                batch = torch.from_numpy(draw.choice(own, BATCH_ROWS))
                optimiser.zero_grad()
                nn.functional.cross_entropy(model(workload.train[0][batch]), workload.train[1][batch]).backward()
                optimiser.step()
            party.aggregate(model, weight=len(own))
        return model

    most = max(len(own) for own in rows)
    run = hekat.federate(play, PARTIES, weight_max=most, keep=share, keep_by=way, progress=False)
    model = run.results[PARTIES[0]]
    with torch.no_grad():
        scores = model(workload.test[0])
        loss = float(nn.functional.cross_entropy(scores, workload.test[1]))
        accuracy = float((scores.argmax(1) == workload.test[1]).float().mean())
    return {
        "loss": loss,
        "accuracy": accuracy,
        "up_bytes": run.costs.rounds[-1].bytes[PARTIES[0]].up,
        "values": sum(one.numel() for one in model.parameters()),
    }


def _share_rows(labels: np.ndarray, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    parts: list[list[np.ndarray]] = [[] for _ in PARTIES]
    for label in np.unique(labels):
        own = rng.permutation(np.flatnonzero(labels == label))
        shares = rng.dirichlet([UNLIKENESS] * len(PARTIES))
        cuts = (np.cumsum(shares)[:-1] * own.size).astype(int)
        for part, cut in zip(parts, np.split(own, cuts), strict=True):
            part.append(cut)
    return [np.concatenate(part) for part in parts]


def _mnist(folder: Path) -> Workload:
    split = load_mnist(folder)
    train = (split.train_inputs.reshape(-1, 784)[::4].contiguous(), split.train_labels[::4].contiguous())
    return Workload(
        "MNIST, every fourth row", train, (split.test_inputs.reshape(-1, 784), split.test_labels), (128,), 60
    )


def _credit(folder: Path) -> Workload:
    """Columns of mean 0 and spread 1 over all rows that are trained on."""
    data, train_rows, test_rows = read_credit(folder / "credit")
    columns = (data.joined - data.joined[train_rows].mean(axis=0)) / data.joined[train_rows].std(axis=0)

    def pick(rows: np.ndarray) -> tuple[Tensor, Tensor]:
        return torch.from_numpy(columns[rows].astype(np.float32)), torch.from_numpy(data.labels[rows])

    return Workload("UCI credit default", pick(train_rows), pick(test_rows), (64, 32), 60)
