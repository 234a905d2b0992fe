"""What a role's machine gives it, what the role keeps of the training, and what it reports of each iteration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from hekat.ledger import RecordedChannel
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_trees.host_side.sum_memory import SUM_MEMORY_MIB
from hekat.protocol.vertical_trees.model_part import TreesPart
from hekat.scheme.paillier import KeyPair


@dataclass(frozen=True)
class TreeState:
    """What one party carries from iteration to iteration, and resumes from: its own part alone.

    `arrays` are what its part of the model has, at the guest with the scores of its rows. The guest alone has `losses`
    and `validation_losses`; hosts have none. `model_id` names the model in all parties' states.
    """

    arrays: Mapping[str, npt.NDArray[Any]] = field(repr=False)
    trees_done: int
    finished: bool = False
    losses: tuple[float, ...] = ()
    validation_losses: tuple[float, ...] = ()
    model_id: str = ""


@dataclass(frozen=True)
class TreeRecord:
    """One iteration as a party saw it; the losses are None at hosts, the second also where no row is held out."""

    iteration: int
    loss: float | None = None
    validation_loss: float | None = None


@dataclass(frozen=True)
class TreesRun:
    """What a role is given besides settings and rows.

    `save` is called with the party's own state at the end of every iteration; `resume_from` is such a state of an
    earlier run. `start_from` is the party's part of an earlier model, which training goes on with (warm start).
    `key_pair` is a ready key for the guest of a training under Paillier, which makes one itself without it.
    `max_sum_memory_mib` bounds what a guest's messages make a host keep room for (`host_side/sum_memory.py`).
    """

    stopwatch: Stopwatch
    on_tree: Callable[[TreeRecord], None] = lambda record: None
    save: Callable[[TreeState], None] = lambda state: None
    resume_from: TreeState | None = None
    start_from: TreesPart | None = None
    key_pair: KeyPair | None = field(default=None, repr=False)
    max_sum_memory_mib: int = SUM_MEMORY_MIB
    count_predictions: Callable[[int], None] = lambda row_count: None
    """Called with the number of rows to predict before anything of them leaves; raises PolicyError to refuse them."""

    @property
    def trees_done(self) -> int:
        """How many iterations the run or model that training goes on with had done; 0 where it begins."""
        if self.resume_from is not None:
            return self.resume_from.trees_done
        return 0 if self.start_from is None else self.start_from.iterations

    def had_ended(self, iterations: int) -> bool:
        """Whether the resumed run had come to the end of a training of so many `iterations`."""
        resumed = self.resume_from
        return resumed is not None and (resumed.finished or resumed.trees_done >= iterations)

    def end_iteration(self, channel: RecordedChannel, state: TreeState, record: TreeRecord) -> None:
        """Save the party's state after an iteration, note in the channel that it is saved, and report the iteration."""
        self.save(state)
        channel.note_saved(f"{channel.party}'s part after tree {record.iteration}")
        self.on_tree(record)
