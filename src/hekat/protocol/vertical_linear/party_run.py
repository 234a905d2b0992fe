"""What a role's machine gives it, what the role keeps of the training, and what it reports of each epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from hekat.ledger import RecordedChannel
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.scheme.paillier import KeyPair


@dataclass(frozen=True)
class PartState:
    """What one party carries from epoch to epoch, and resumes from: its own part alone.

    `arrays` holds weights and the optimiser's state by name (float64), or shares of them as uint64 limbs. No other
    party can use it. The guest alone has `losses`; hosts have none.
    """

    arrays: Mapping[str, npt.NDArray[Any]]
    epochs_done: int
    finished: bool = False
    losses: tuple[float, ...] = ()


@dataclass(frozen=True)
class EpochRecord:
    """One epoch as a party saw it; `loss` and `gradient_error_bound` are None where the party does not learn them.

    `gradient_error_bound` bounds how far any entry of the party's gradients, in any step of the epoch, lies from exact
    arithmetic on the same columns, rounded to 2^-feature_bits.
    """

    epoch: int
    loss: float | None = None
    gradient_error_bound: float | None = None


@dataclass(frozen=True)
class PartyRun:
    """What a role is given besides settings and rows.

    `save` is called with the party's own state at the end of every epoch; `resume_from` is such a state of an earlier
    run. `start_from` holds the weights of an earlier model part (warm start). `key_pair` is a ready key for a role that
    would make one.
    """

    stopwatch: Stopwatch
    on_epoch: Callable[[EpochRecord], None] = lambda record: None
    save: Callable[[PartState], None] = lambda state: None
    resume_from: PartState | None = None
    start_from: Mapping[str, npt.NDArray[Any]] | None = None
    key_pair: KeyPair | None = field(default=None, repr=False)
    count_predictions: Callable[[int], None] = lambda row_count: None
    """Called with the number of rows to predict before anything of them leaves; raises PolicyError to refuse them."""
    count_calibration: Callable[[ModelPart, int], None] = lambda part, row_count: None
    """The same for the training rows that are predicted to calibrate, with the part that was trained."""
    exactness_check: Any = None
    """Where given (one machine only), it gets the values of each step and holds them against centralised training."""

    @property
    def epochs_done(self) -> int:
        """How many epochs the resumed run had done; 0 where no run is resumed."""
        return 0 if self.resume_from is None else self.resume_from.epochs_done

    @property
    def begins_with(self) -> Mapping[str, npt.NDArray[Any]] | None:
        """The arrays of the state or model part that training goes on from; None where it begins with zeros."""
        return self.start_from if self.resume_from is None else self.resume_from.arrays

    def had_ended(self, epochs: int) -> bool:
        """Whether the resumed run had come to the end of a training of `epochs`."""
        resumed = self.resume_from
        return resumed is not None and (resumed.finished or resumed.epochs_done >= epochs)

    def end_epoch(self, channel: RecordedChannel, state: PartState, record: EpochRecord) -> None:
        """Save the party's state after an epoch, note in the channel that it is saved, and report the epoch."""
        self.save(state)
        channel.note_saved(f"{channel.party}'s part after epoch {record.epoch}")
        self.on_epoch(record)
