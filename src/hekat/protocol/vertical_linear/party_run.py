"""What the machine gives a role, what a role keeps of the training, and what it tells of each epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from hekat.protocol.stopwatch import Stopwatch
from hekat.scheme.paillier import KeyPair


@dataclass(frozen=True)
class PartState:
    """What one party carries from epoch to epoch, and resumes from: its own part alone.

    `arrays` are weights and the optimiser's state by name (float64), or shares of them as uint64 limbs; a party's
    state is of no use to another party. `losses` are the guest's alone, empty at hosts.
    """

    arrays: Mapping[str, npt.NDArray[Any]]
    epochs_done: int
    finished: bool = False
    losses: tuple[float, ...] = ()


@dataclass(frozen=True)
class EpochRecord:
    """One epoch as a party saw it: `loss` and `gradient_error_bound` are None where the party does not learn them.

    `gradient_error_bound` is the largest distance of any entry of this party's gradients from that of exact arithmetic
    on the same columns, rounded to 2^-feature_bits, in any step of the epoch, by the fixed-point bound.
    """

    epoch: int
    loss: float | None = None
    gradient_error_bound: float | None = None


@dataclass(frozen=True)
class PartyRun:
    """What a role is given besides settings and rows. `key_pair` is a ready one for a role that makes a key.

    `save` gets the party's own state at the end of every epoch; `resume_from` is such a state of an earlier run;
    `start_from` are weights of an earlier model part (warm start).
    """

    stopwatch: Stopwatch
    on_epoch: Callable[[EpochRecord], None] = lambda record: None
    save: Callable[[PartState], None] = lambda state: None
    resume_from: PartState | None = None
    start_from: Mapping[str, npt.NDArray[Any]] | None = None
    key_pair: KeyPair | None = field(default=None, repr=False)
    count_predictions: Callable[[int], None] = lambda row_count: None
    """Told how many rows are to be predicted before anything of that leaves; raises PolicyError to refuse them."""
    exactness_check: Any = None
    """Where given (one machine only), it is told each step's values, to hold them against centralised training."""
