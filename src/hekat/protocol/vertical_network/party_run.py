"""What a role's machine gives it, what the role keeps of the training, and what it reports of each epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hekat.ledger import RecordedChannel
from hekat.model.split import BottomMaker, TopMaker
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical.label_privacy import OwnLabels
from hekat.protocol.vertical_network.model_part import NetworkPart

ORIGIN: Final = "origin"
"""The array of a state that names the session that its training began in, from which pads of truncation follow."""


@dataclass(frozen=True)
class NetworkState:
    """What one party carries from epoch to epoch, and resumes from: its own part alone.

    `arrays` are what its part of the model has, and the optimisers' state. The guest alone has losses; hosts have none.
    `model_id` names the model in all parties' states: those with the same name after as many epochs belong together.
    """

    arrays: Mapping[str, npt.NDArray[Any]] = field(repr=False)
    epochs_done: int
    finished: bool = False
    losses: tuple[float, ...] = ()
    validation_losses: tuple[float, ...] = ()
    model_id: str = ""

    def had_ended(self, epochs: int) -> bool:
        """Whether a training of `epochs` had come to its end."""
        return self.finished or self.epochs_done >= epochs


@dataclass(frozen=True)
class NetworkRecord:
    """One epoch as a party saw it.

    The losses are None at hosts, the second also where no row is held out. `clipped_share` is the share of the numbers
    that the party gave to products in the epoch and that had to be cut to their range; `shared_rate` the rate at which
    the shared layer moved in a whole batch, after it was taken in units.
    """

    epoch: int
    loss: float | None = None
    validation_loss: float | None = None
    clipped_share: float = 0.0
    shared_rate: float = 0.0


@dataclass(frozen=True)
class NetworkRun:
    """What a role is given besides settings and rows.

    `save` is called with the party's own state at the end of every epoch; `resume_from` is such a state of an earlier
    run. `start_from` is the party's part of an earlier model, which training goes on with (warm start).

    `make_bottom` makes the party's own map of its columns; without it Hekat's own is used: a dense network where the
    bottom trains, random features at a host whose bottom is frozen. `make_top` makes the guest's top in place of a
    dense network; a prediction needs it too. `own_labels` is what a guest's site keeps of its labels: needed where
    there is label privacy.
    `seed` is the secret that the party's weights are drawn from; None: the operating system's randomness.
    """

    stopwatch: Stopwatch
    on_epoch: Callable[[NetworkRecord], None] = lambda record: None
    save: Callable[[NetworkState], None] = lambda state: None
    resume_from: NetworkState | None = None
    start_from: NetworkPart | None = None
    make_bottom: BottomMaker | None = None
    make_top: TopMaker | None = None
    own_labels: OwnLabels | None = None
    seed: int | None = field(default=None, repr=False)
    kept_uses: int | None = None
    """What `layer_exchange.kept_uses` says in place of its own rule: a rehearsal of fewer epochs says its job's."""
    warn: Callable[[str], None] = lambda text: None
    """Called with a line for the user: numbers that were cut to their range."""
    count_predictions: Callable[[int], None] = lambda row_count: None
    """Called with the number of rows to predict before anything of them leaves; raises PolicyError to refuse them."""

    @property
    def epochs_done(self) -> int:
        """How many epochs the resumed run had done; 0 where no run is resumed."""
        return 0 if self.resume_from is None else self.resume_from.epochs_done

    @property
    def begins_with(self) -> Mapping[str, npt.NDArray[Any]] | None:
        """The arrays of the state or model part that training goes on from; None where it begins anew."""
        if self.resume_from is not None:
            return self.resume_from.arrays
        return None if self.start_from is None else self.start_from.arrays

    @property
    def model_id(self) -> str:
        """The name of the model that training goes on from; empty where it begins anew."""
        before = self.resume_from or self.start_from
        return "" if before is None else before.model_id

    @property
    def origin(self) -> str:
        """The name of the session that the resumed training began in; empty where it begins here."""
        kept = None if self.resume_from is None else self.resume_from.arrays.get(ORIGIN)
        return "" if kept is None else kept.tobytes().decode()

    def had_ended(self, epochs: int) -> bool:
        """Whether the resumed run had come to the end of a training of `epochs`."""
        return self.resume_from is not None and self.resume_from.had_ended(epochs)

    def end_epoch(self, channel: RecordedChannel, state: NetworkState, record: NetworkRecord) -> None:
        """Save the party's state after an epoch, note in the channel that it is saved, and report the epoch."""
        self.save(state)
        channel.note_saved(f"{channel.party}'s part after epoch {record.epoch}")
        self.on_epoch(record)


def origin_array(name: str) -> dict[str, npt.NDArray[Any]]:
    """The array of a state that `NetworkRun.origin` reads."""
    return {ORIGIN: np.frombuffer(name.encode(), np.uint8)}
