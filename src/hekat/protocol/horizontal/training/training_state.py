"""What a training holds between rounds, equal at every party: its state, a round's record, and digests of both."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass, field

import numpy as np

from hekat.data.columns.found import Vocabulary
from hekat.model import OptimiserState
from hekat.privacy import Mask
from hekat.protocol.horizontal.training.standardise import Standardiser
from hekat.protocol.horizontal.training.trained_tensors import CONTROL
from hekat.protocol.horizontal.training.validation import ValidationState
from hekat.protocol.secure_sum.streamed_tensor import Tensors
from hekat.state.privacy_budget import Spent


@dataclass(frozen=True)
class RoundPrivacy:
    """What rounds with differential privacy have cost the rows of any one party, or the party, by the end of one.

    `epsilon` is what `release_count` releases of this job, the most of any party, are proved to keep to against the
    claim's coalition, and `epsilon_at_one` against one party by itself. `spent` is of all jobs on this party's data
    set, where the site keeps a budget.
    """

    epsilon: float
    epsilon_at_one: float
    release_count: int
    spent: Spent | None = None


SEEN = "seen/"
"""What the sums seen of a tensor are called beside the tensor itself."""


@dataclass(frozen=True)
class RoundRecord:
    """What one party knows of one finished round: aggregates only."""

    round: int
    loss: float
    clipped_count: int
    value_count: int
    bounds: dict[str, float]
    """By tensor; empty where nothing is clipped."""
    row_count: int
    party_count: int
    validation: dict[str, float] = field(default_factory=dict)
    """Metrics of the model at the round's start on all parties' held-out rows, where the round validates."""
    clipped_by_tensor: dict[str, int] = field(default_factory=dict)
    """`clipped_count` by tensor; empty where nothing is clipped."""
    values_by_tensor: dict[str, int] = field(default_factory=dict)
    """`value_count` by tensor."""
    scaled_down_count: int = 0
    """Parties whose update was longer than the codec's `max_norm`, and was scaled down to it."""
    privacy: RoundPrivacy | None = None
    """In a job with differential privacy: then `loss` is noised, `row_count` the divisor, and nothing is counted."""


@dataclass
class TrainingState:
    """Everything a checkpoint holds; equal bytes at every party. `finished`: no round follows.

    `control` is scaffold's c, the mean over `row_count` rows of all parties. `seen` is how large the sums of each
    value were, where parties choose by it which ones they send (`IndexSets.learn`). `last_rounds` tells of each
    party the last round whose sum holds its update, where parties keep states of their own. `vocabulary` are the
    categories that the parties found together; `mask` is of the trained weights, None where all are masked.
    """

    parameters: Tensors
    optimiser_state: OptimiserState
    standardiser: Standardiser
    rounds_done: int = 0
    bounds: dict[str, float] = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)
    finished: bool = False
    control: Tensors = field(default_factory=dict)
    seen: Tensors = field(default_factory=dict)
    row_count: int = 0
    last_rounds: dict[str, int] = field(default_factory=dict)
    validation: ValidationState = field(default_factory=ValidationState)
    folds: list[dict[str, float]] = field(default_factory=list)
    """By fold that is done: metrics of its model on the rows of the fold, over all parties, and its "rounds"."""
    vocabulary: Vocabulary = field(default_factory=dict)
    mask: Mask | None = None

    @property
    def sums_done(self) -> int:
        """The progress of training: the rounds, the validation after the last one, and the folds."""
        return self.rounds_done + (self.validation.final is not None) + len(self.folds)

    def copy(self) -> TrainingState:
        """The same state with arrays of its own: every party changes its parameters by itself."""
        return TrainingState(
            parameters={name: values.copy() for name, values in self.parameters.items()},
            optimiser_state={name: values.copy() for name, values in self.optimiser_state.items()},
            standardiser=self.standardiser,
            rounds_done=self.rounds_done,
            bounds=dict(self.bounds),
            losses=list(self.losses),
            finished=self.finished,
            control={name: values.copy() for name, values in self.control.items()},
            seen={name: values.copy() for name, values in self.seen.items()},
            row_count=self.row_count,
            last_rounds=dict(self.last_rounds),
            validation=self.validation.copy(),
            folds=[dict(metrics) for metrics in self.folds],
            vocabulary=self.vocabulary,
            mask=self.mask,
        )


def digest_model(state: TrainingState, key: bytes) -> bytes:
    """A keyed digest of parameters, standardiser, control variates, mask, what was seen of sums and the categories that
    were found; equal only where every byte is."""
    digest = hmac.new(key or b"unkeyed", digestmod=hashlib.sha256)
    if state.vocabulary:
        found = json.dumps(dict(state.vocabulary), sort_keys=True).encode()
        digest.update(b"vocabulary" + len(found).to_bytes(8, "little") + found)
    if state.mask is not None:
        digest.update(b"mask" + state.mask.digest(b""))
    standardiser = {"standardiser/mean": state.standardiser.mean, "standardiser/spread": state.standardiser.spread}
    if state.standardiser.fill is not None:
        standardiser["standardiser/fill"] = state.standardiser.fill
    if (label := state.standardiser.label) is not None:
        standardiser["standardiser/label"] = np.array([label.mean, label.spread])
    control = {f"{CONTROL}{name}": values for name, values in state.control.items()}
    seen = {f"{SEEN}{name}": values for name, values in state.seen.items()}
    arrays = {**state.parameters, **standardiser, **control, **seen}
    for name in sorted(arrays):
        values = np.ascontiguousarray(arrays[name], dtype="<f8")
        header = f"{name}|{values.shape}|".encode()
        digest.update(len(header).to_bytes(4, "little") + header)
        # Where it lies: a copy of a large model takes longer than its digest.
        digest.update(values.reshape(-1).view(np.uint8).data)
    return digest.digest()


def encode_totals(state: TrainingState) -> bytes:
    """All totals of sums so far beside the model, as bytes; equal where all totals are."""
    validation = state.validation
    totals = {
        "rounds_done": state.rounds_done,
        "finished": state.finished,
        "losses": state.losses,
        "bounds": state.bounds,
        "row_count": state.row_count,
        "last_rounds": state.last_rounds,
        "validation": {str(number): metrics for number, metrics in validation.by_round.items()},
        "final": validation.final,
        "edges": validation.edges.tolist(),
        **({"folds": state.folds} if state.folds else {}),
    }
    return json.dumps(totals, sort_keys=True).encode()
