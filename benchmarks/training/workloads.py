"""The three workloads of BatchCrypt (ATC 2020, section 6.1), sized for a machine without a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import nn

from training.data import Split, character_count, load_cifar, load_mnist, load_shakespeare
from training.models import CharacterLstm, make_cnn, make_mlp

PARTY_COUNT = 9
Optimiser = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]


@dataclass(frozen=True)
class Workload:
    """One model, its rows and how they are trained; `batch_rows` is of one party.

    Of Paillier, whose exchange takes minutes for large models, only `paillier_bits` are run. The rate of `fedavg` is
    multiplied by `decay` after each round.
    Each protection is run `turns` times, in turns, where one run is short beside what else the machine does.
    """

    name: str
    make_model: Callable[[], nn.Module]
    split: Split
    batch_rows: int
    make_optimiser: Optimiser
    fedsgd_rate: float
    rounds: int
    fedsgd_rounds: int
    paillier_rounds: int
    party_count: int = PARTY_COUNT
    seed: int = 1
    turns: int = 1
    paillier_bits: tuple[int, ...] = (8, 16, 32)
    decay: float = 1.0

    @property
    def conditions(self) -> dict[str, object]:
        """How it is trained, for whoever reads its figures."""
        optimiser = self.make_optimiser([nn.Parameter(torch.zeros(1))])
        rate = optimiser.param_groups[0]["lr"]
        momentum = optimiser.param_groups[0].get("momentum", 0)
        return {
            "optimiser": type(optimiser).__name__ + (f" with momentum {momentum:g}" if momentum else ""),
            "rate": rate,
            "decay": self.decay,
            "fedsgd_rate": self.fedsgd_rate,
            "batch_rows": self.batch_rows,
            "turns": self.turns,
            "train_rows": len(self.split.train_labels),
            "test_rows": len(self.split.test_labels),
            "data": self.split.name,
        }

    @property
    def parties(self) -> list[str]:
        """Names in order; the first seven are the committee."""
        return [f"party-{number}" for number in range(1, self.party_count + 1)]


def mnist_mlp(folder: Path) -> Workload:
    """784-128-10 on MNIST."""
    optimiser = partial(torch.optim.SGD, lr=0.1, momentum=0.9)
    return Workload("mlp on MNIST", make_mlp, load_mnist(folder), 128, optimiser, 0.1, 20, 60, 3, turns=3, decay=0.85)


def cifar_cnn(folder: Path) -> Workload:
    """The AlexNet-like network on CIFAR-10: a short run, not to convergence."""
    optimiser = partial(torch.optim.Adam, lr=1e-3)
    return Workload("cnn on CIFAR-10", make_cnn, load_cifar(folder), 128, optimiser, 0.05, 5, 5, 1, decay=0.8)


def shakespeare_lstm(folder: Path) -> Workload:
    """Two LSTM layers on tiny Shakespeare, one epoch."""
    split = load_shakespeare(folder)
    model = partial(CharacterLstm, character_count(split))
    optimiser = partial(torch.optim.Adam, lr=2e-3)
    return Workload("lstm on Shakespeare", model, split, 128, optimiser, 0.5, 1, 2, 1, paillier_bits=(16,))


WORKLOADS = {"mlp": mnist_mlp, "cnn": cifar_cnn, "lstm": shakespeare_lstm}
