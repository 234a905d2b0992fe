"""What a role's machine gives it, what arbiter and aggregator keep of the training, and what roles report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy.typing as npt

from hekat.errors import PolicyError
from hekat.ledger import RecordedChannel
from hekat.protocol.encrypted_model.owned_model import OwnedModel
from hekat.protocol.encrypted_model.set_up.facts import ModelFacts
from hekat.protocol.stopwatch import Stopwatch
from hekat.scheme.paillier import KeyPair

SHARE: Final = "share"
"""The name in a state of the shares of weights and velocity, uint64 (numbers, K, 2)."""
TRANSCRIPT: Final = "transcript"
"""The name in a state of what arbiter and aggregator both saw so far, a digest: uint8 (32,)."""


@dataclass(frozen=True)
class ShareState:
    """What arbiter and aggregator carry from round to round, and resume from. One of both tells nothing of the model.

    `arrays` has SHARE and TRANSCRIPT; at hosts and at an owner that is none it is empty.
    """

    arrays: Mapping[str, npt.NDArray[Any]] = field(repr=False)
    rounds_done: int
    finished: bool = False


@dataclass(frozen=True)
class RoundRecord:
    """One round as a role saw it."""

    round_number: int


def refuse_to_predict(row_count: int) -> None:
    """Raise PolicyError: scores add up to the weights, so rows that nobody counts are not scored."""
    raise PolicyError(
        "rows are to be scored by an encrypted model, and nothing counts them",
        expected="EncryptedModelRun.count_predictions, which counts over all predictions and refuses too many",
        got=f"none, for {row_count:,} rows",
        cure="give the run a count that outlives it",
    )


@dataclass(frozen=True)
class EncryptedModelRun:
    """What a role is given besides settings and rows.

    `on_round` is called at every role after a round, `on_model` at the owner with each model that it is given, the last
    one included. `save` is called with the role's state after every round; `resume_from` is such a state of an earlier
    run, of the same round at every role. `key_pair` is a ready key for the arbiter under Paillier.
    """

    stopwatch: Stopwatch
    on_round: Callable[[RoundRecord], None] = lambda record: None
    on_model: Callable[[OwnedModel], None] = lambda model: None
    save: Callable[[ShareState], None] = lambda state: None
    resume_from: ShareState | None = None
    key_pair: KeyPair | None = field(default=None, repr=False)
    on_facts: Callable[[ModelFacts], None] = lambda facts: None
    """Called at every host with what the model is of; who predicts by it later needs it again."""
    count_predictions: Callable[[int], None] = refuse_to_predict
    """Called with the number of rows to score before anything of them leaves; raises PolicyError to refuse them."""

    @property
    def rounds_done(self) -> int:
        """How many rounds the resumed run had done; 0 where no run is resumed."""
        return 0 if self.resume_from is None else self.resume_from.rounds_done

    def end_round(self, channel: RecordedChannel, state: ShareState) -> None:
        """Save the role's state after a round, note in the channel that it is saved, and report the round."""
        self.save(state)
        channel.note_saved(f"{channel.party}'s state after round {state.rounds_done}")
        self.on_round(RoundRecord(state.rounds_done))
