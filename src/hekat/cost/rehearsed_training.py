"""How long a round of training takes each party, and which sums it asks for: two rounds, each party by itself.

Nothing is sent. A large table is measured on a part of its rows; seconds are then taken to grow with the rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hekat.data import Table
from hekat.protocol.horizontal.categories.agree_on_categories import agree_on_categories
from hekat.protocol.horizontal.selective_settings import MASK_GROUP
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.training.local_run import LocalRun
from hekat.protocol.horizontal.training.loop import train
from hekat.protocol.horizontal.training.training_state import RoundRecord, TrainingState
from hekat.protocol.horizontal.validation_settings import ValidationSettings
from hekat.protocol.secure_sum.cost.recorded_sums import SumRecorder, SumShape
from hekat.protocol.secure_sum.index_sets.votes import VOTES, votes_step
from hekat.protocol.secure_sum.masked.opening.upload_context import group_of
from hekat.protocol.stopwatch import Stopwatch
from hekat.run.horizontal.load_inputs import HorizontalInputs

LEAST_SAMPLE_ROWS = 2048
SAMPLE_BATCHES = 4
_FIRST, _SECOND = "round-1", "round-2"
_ROUND_OF_FOLD = re.compile(rf"fold-\d+/round-(\d+|(?!1/)\d+/{VOTES})")


@dataclass(frozen=True)
class RoundSums:
    """The sums of a run by their form: those before the first round's own, one of each round, those at the end.

    `votes`: what goes ahead of each round's sum where the parties vote on what they send; `before` has the first, and
    `after` the first of each fold.
    """

    before: tuple[SumShape, ...]
    validated: SumShape
    plain: SumShape
    after: tuple[SumShape, ...]
    votes: SumShape | None = None

    @property
    def of_mask(self) -> tuple[SumShape, ...]:
        """The sums by which a mask is agreed on, where a job masks a part of every update."""
        return tuple(shape for shape in self.before if group_of(shape.step) == MASK_GROUP)

    def of_round(self, number: int, every: int) -> SumShape:
        """The sum of round `number`; from the first on, every `every`-th round's sum may carry a validation."""
        shape = self.validated if (number - 1) % every == 0 else self.plain
        return shape.at(f"round-{number}")

    def all_of_round(self, number: int, every: int) -> tuple[SumShape, ...]:
        """The same behind the votes, where there are any."""
        shape = self.of_round(number, every)
        return (shape,) if self.votes is None else (self.votes.at(votes_step(shape.step)), shape)


def rehearse_sums(inputs: HorizontalInputs, settings: HorizontalSettings) -> RoundSums:
    """The form of every sum of a run with these settings, as the first party's own table makes it."""
    recorder = SumRecorder(settings.codec.value_bits, clips=settings.protection != "none")
    if settings.found:
        agree_on_categories(recorder, inputs.job.vocabulary, settings.found, seed=b"")
    _train_two_rounds(inputs, settings, settings.leader, recorder, Stopwatch())
    return _sort_sums(recorder.sums)


def maps_in(settings: HorizontalSettings, round_count: int) -> int:
    """How many sensitivity maps a party computes in the first rounds of a training."""
    selective = settings.selective
    return sum(selective is not None and selective.is_due(number) for number in range(1, round_count + 1))


@dataclass(frozen=True)
class PartySeconds:
    """Seconds of a party's own work: in a round that it trains in, and for one sensitivity map, 0 without any."""

    train: float
    map: float


def rehearse_seconds(inputs: HorizontalInputs, party: str) -> PartySeconds:
    """Seconds of the party's own work, as two rounds take them."""
    settings = inputs.job.settings
    stopwatch = Stopwatch()
    recorder = SumRecorder(settings.codec.value_bits, clips=False)
    # Rounds of folds are as the others.
    without_folds = replace(settings, validation=ValidationSettings()) if settings.validation.folds else settings
    rows, ends = _train_two_rounds(inputs, without_folds, party, recorder, stopwatch)
    second = ends[-1] - ends[-2] if len(ends) > 1 else ends[-1]
    training = settings.training
    depends_on_rows = training.averages_changes or training.searches_line or not training.batch_rows
    # A map looks at a number of rows that the job states.
    maps = maps_in(settings, len(ends))
    return PartySeconds(
        second * (len(inputs.tables[party]) / rows if depends_on_rows else 1.0),
        stopwatch.seconds["map"] / maps if maps else 0.0,
    )


def _train_two_rounds(
    inputs: HorizontalInputs, settings: HorizontalSettings, party: str, recorder: SumRecorder, stopwatch: Stopwatch
) -> tuple[int, list[float]]:
    """(rows that were used, seconds of training so far at the end of each round)."""
    training = settings.training
    table = _sample(inputs.tables[party], training.batch_rows)
    rounds = min(2, training.round_count)
    shortened = replace(training, round_count=rounds, patience=0, stop_at_loss=0.0)
    ends: list[float] = []

    def on_round(record: RoundRecord, state: TrainingState) -> None:
        ends.append(stopwatch.seconds["train"])

    local = LocalRun(stopwatch, on_round, lambda state: None, model=inputs.make_model(party).model)
    train(recorder, table, replace(settings, training=shortened), local, party=party)
    return len(table), ends


def _sample(table: Table, batch_rows: int) -> Table:
    most = max(LEAST_SAMPLE_ROWS, SAMPLE_BATCHES * batch_rows)
    if len(table) <= most:
        return table
    return table.take(np.sort(np.random.default_rng(0).permutation(len(table))[:most]))


def _sort_sums(sums: Sequence[SumShape]) -> RoundSums:
    steps = [shape.step for shape in sums]
    first = steps.index(_FIRST)
    second = steps.index(_SECOND) if _SECOND in steps else first
    # Rounds of folds are as the others.
    after = tuple(shape for shape in sums[second + 1 :] if not _ROUND_OF_FOLD.fullmatch(shape.step))
    votes = next((shape for shape in sums if shape.step == votes_step(_FIRST)), None)
    return RoundSums(tuple(sums[:first]), sums[first], sums[second], after, votes)
