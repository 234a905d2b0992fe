"""The interface of an algorithm to the training loop, the server step and the settings.

With f_i the mean loss over party i's rows, x the model that all parties hold, eta `learning_rate`, and y the party's
own copy of x that its local steps move, batch by batch:

    fedsgd    g_i(x), the gradient of one batch
    lbfgs     g_i(x), the gradient of all rows
    fedavg    y <- y - eta g_i(y)                           McMahan et al. 2017, Algorithm 1
    fedprox   y <- y - eta (g_i(y) + mu (y - x))            Li et al. 2020, Algorithm 2 with local SGD
    scaffold  y <- y - eta (g_i(y) - c_i + c)               Karimireddy et al. 2020, Algorithm 1

The last three send y - x. `server_step.py` says with which weights the updates are averaged. Statistics
(`Model.averaged`) are no weights: every algorithm takes their slope with step 1, without eta, mu, c or c_i.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hekat.codec.clip import FloatArray
from hekat.model import Model
from hekat.protocol.horizontal.training.trained_tensors import TrainedTensors
from hekat.protocol.secure_sum.streamed_tensor import Tensors

LabelArray = npt.NDArray[np.float64] | npt.NDArray[np.int64]


class LocalSettings(Protocol):
    """What local work needs of training settings; `batch_rows` 0 means all rows."""

    @property
    def local_epochs(self) -> int: ...

    @property
    def batch_rows(self) -> int: ...

    @property
    def learning_rate(self) -> float: ...

    @property
    def proximal_mu(self) -> float: ...


@dataclass(frozen=True)
class LocalRows:
    """A party's rows, standardised, shape (rows, columns), dense or sparse, and their labels."""

    features: FloatArray = field(repr=False)
    labels: LabelArray = field(repr=False)

    def __len__(self) -> int:
        return int(self.features.shape[0])


@dataclass(frozen=True)
class LocalTask:
    """One party's task of one round: to train from the model `parameters`, which are only read, on its rows.

    `correction` is c - c_i for each trained weight, where the algorithm has control variates.
    """

    model: Model
    parameters: Tensors = field(repr=False)
    rows: LocalRows
    training: LocalSettings
    rng: np.random.Generator
    trained: TrainedTensors
    correction: Tensors | None = field(default=None, repr=False)

    @property
    def batch_rows(self) -> int:
        """Rows of one batch."""
        return min(self.training.batch_rows or len(self.rows), len(self.rows))


@dataclass(frozen=True)
class LocalWork:
    """One party's work of one round.

    `update` holds the trained tensors alone; `loss` is the mean over the rows at the round's start, penalty included;
    `weight` is how many rows are behind both; `step_count` how many local steps led to the update (1 for a gradient).
    """

    update: Tensors = field(repr=False)
    loss: float = field(repr=False)
    weight: int = field(repr=False)
    step_count: int


class Algorithm(Protocol):
    """One algorithm. By default a subclass averages changes, and has no control variates."""

    averages_changes: bool = True
    """Whether the parties average changes of the weights after local steps, and not gradients."""
    steps_before_rounds: tuple[str, ...] = ()
    """The sums of its own that it asks for before the first round."""
    searches_line: bool = False
    """Whether the common step looks for a lower loss along a direction (`line_search.py`), and no optimiser moves."""
    has_control: bool = False
    """Whether parties keep control variates, and send their changes beside the updates."""

    @property
    def name(self) -> str:
        """As a job names it."""
        ...

    def check(self, training: LocalSettings) -> None:
        """Raise InputError for settings that have no effect under this algorithm."""
        ...

    def work(self, task: LocalTask) -> LocalWork:
        """The work of one round."""
        ...
