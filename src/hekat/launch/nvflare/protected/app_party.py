"""A party's side of a protected app: which model its tasks train on, and what of their results leaves the site.

Every round is one task: `install` answers the task's model, `sum_up` the task's result. A server that asks for another
order, for a round twice, for more rounds than the job has, or for other tensors is refused, and the party leaves.

What leaves of a result tells nothing of the sum, unless the server learns the model. So it leaves at once: the sum is
opened while the engine brings the next task, and `install` waits for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hekat.errors import InputError, ProtocolError
from hekat.job.averaging.job_file import AveragingJob
from hekat.launch.loop_rounds import SERVER_SAID
from hekat.launch.nvflare.protected.handover import Call, Handover
from hekat.launch.nvflare.protected.tensors import Tensors, add, copy_of, digest_of, floats_of, subtract, zero_each
from hekat.own_loop import Party

_METRIC = "hekat/metric/"
_SAME_MODEL = "the model of the round"


@dataclass(frozen=True)
class Update:
    """What a task came to: the model, or its difference from the model that the task was given.

    `weight`: the steps or rows behind it. `metrics` are numbers by name, as the app reports them.
    """

    values: Tensors = field(repr=False)
    is_difference: bool
    weight: int = field(repr=False)
    metrics: Mapping[str, float] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Answer:
    """What leaves by the engine in the update's place; all sites hand in the same, with weight 1."""

    values: dict[str, Any] = field(repr=False)
    metrics: dict[str, float] = field(default_factory=dict, repr=False)


class AppParty:
    """Called by the engine's task thread, one call at a time."""

    def __init__(self, job: AveragingJob, party: str, handover: Handover) -> None:
        self._job, self._party, self._handover = job, party, handover
        self._base: dict[str, Any] = {}
        self._is_training = False
        self._terms = b""
        self._summing: Call | None = None
        self.rounds_done = 0
        """Rounds whose sum was opened."""
        self.rounds_handed_in = 0
        self.model: dict[str, Any] | None = None
        """What all parties hold since the last round; None before the first one."""

    def install(self, round_number: int | None, received: Tensors, terms: bytes = b"") -> dict[str, Any]:
        """The model to train on, as tensors of the app's own. `round_number` counts from 0; None: not told.

        In round 0 the server's, which all parties compare. Then the last mean, whatever the server sends; the
        server's, compared again, where the job lets the server learn the model. `terms` are what else the server said,
        which parties compare before the round's sum opens. Raises ProtocolError for a task that is out of turn, and
        where parties were sent different models.
        """
        with self._leaving_on_refusal():
            return self._install(round_number, received, terms)

    def _install(self, round_number: int | None, received: Tensors, terms: bytes) -> dict[str, Any]:
        self._check_turn(is_training=False, what="a task to train")
        if self._summing is not None:
            self._handover.wait(self._summing)
            self._summing = None
        if self.rounds_done >= self._job.round_count:
            raise self._refuse("a task to train", f"{self._job.round_count} rounds, as the job says", "one more")
        if round_number is not None and round_number != self.rounds_done:
            raise self._refuse("a task to train", f"round {self.rounds_done}", f"round {round_number}")
        if self.model is None:
            self._base = self._first_model(received)
        elif self._job.server_learns_model:
            self._base = self._servers_model(received)
        else:
            self._base = self.model
        self._is_training, self._terms = True, terms
        return copy_of(self._base)

    def sum_up(self, update: Update) -> Answer:
        """Have the update averaged with the updates of all parties; what the engine may be given of it.

        Raises InputError for an update with other tensors. What `Party.aggregate` raises, the next `install` does, or
        this call where it waits for the sum: in the last round, and where the server learns the model.
        """
        with self._leaving_on_refusal():
            return self._sum_up(update)

    def _sum_up(self, update: Update) -> Answer:
        self._check_turn(is_training=True, what="a result")
        self._is_training = False
        self._check_names(update.values)
        # The app may go on with its own arrays before the sum has read them.
        state = add(self._base, update.values) if update.is_difference else copy_of(update.values)
        metrics = self._metrics_of(update)
        same = (SERVER_SAID, self._terms)

        def sum_round(party: Party) -> tuple[dict[str, Any], dict[str, float]]:
            result = party.aggregate({**state, **metrics}, weight=update.weight, same=same)
            told = {name.removeprefix(_METRIC): float(result.pop(name)[0]) for name in metrics}
            self.model = copy_of(result)
            self.rounds_done += 1
            return result, told

        summing = self._handover.begin(sum_round)
        self.rounds_handed_in += 1
        is_last = self.rounds_handed_in == self._job.round_count
        if not self._job.server_learns_model and not is_last:
            self._summing = summing
            return Answer(zero_each(update.values))
        result, told = self._handover.wait(summing)
        answer = self._answer(update, result, told)
        if is_last:
            # While the engine awaits the results of all, every role is there to compare the last model.
            self._handover.finish()
            self._handover.wait_for_end()
        return answer

    def note_end_of_task(self) -> None:
        """The engine is about to report on a task: where nothing was summed, the app failed, and the party leaves."""
        if self._is_training:
            self._is_training = False
            self._handover.abandon(
                ProtocolError(
                    f"the app at {self._party} ended a task without a result",
                    expected="a model to average",
                    got="none",
                    cure="see the app's own log at this site",
                )
            )

    @contextmanager
    def _leaving_on_refusal(self) -> Iterator[None]:
        """Others are not to wait for a party that refused: it leaves, and they go on where they may."""
        try:
            yield
        except BaseException as error:
            self._handover.abandon(error)
            raise

    def _answer(self, update: Update, result: dict[str, Any], metrics: dict[str, float]) -> Answer:
        if not self._job.server_learns_model:
            return Answer(zero_each(update.values))
        # Integers are each party's own, and counts of rows among them: the server has back what it sent.
        floats = floats_of(result, self._party)
        whole = {name: floats.get(name, value) for name, value in copy_of(self._base).items()}
        return Answer(subtract(whole, self._base) if update.is_difference else whole, metrics)

    def _first_model(self, received: Tensors) -> dict[str, Any]:
        base = copy_of(self._checked(received))
        self._handover.ask(lambda party: party.start_from(base))
        return base

    def _servers_model(self, received: Tensors) -> dict[str, Any]:
        """The server's model of this round. One that differs from party to party could make one update stand alone in
        the sum, so nothing is trained on it before all have compared it."""
        base = copy_of(self._checked(received))
        self._check_names(base)
        digest = digest_of(base, self._party)
        self._handover.ask(lambda party: party.check_same(_SAME_MODEL, digest))
        return base

    def _checked(self, received: Tensors) -> Tensors:
        if taken := [name for name in received if not isinstance(name, str) or name.startswith(_METRIC)]:
            raise InputError(
                "the model has a tensor whose name cannot be used",
                expected=f"names that do not begin with {_METRIC}",
                got=repr(taken[0])[:60],
                cure="rename it in the app",
            )
        floats_of(received, self._party)
        return received

    def _check_names(self, values: Tensors) -> None:
        if values.keys() != self._base.keys():
            missing, further = sorted(self._base.keys() - values.keys()), sorted(values.keys() - self._base.keys())
            named = [*(f"no {name}" for name in missing[:3]), *(f"{name}, too" for name in further[:3])]
            raise InputError(
                "the model has other tensors than before",
                expected="the tensors of the first model in every round",
                got="; ".join(named),
                cure="have the app send the model that it was given, with all its tensors",
            )

    def _metrics_of(self, update: Update) -> dict[str, Any]:
        if not self._job.server_learns_model:
            return {}
        return {f"{_METRIC}{name}": np.array([value], np.float64) for name, value in sorted(update.metrics.items())}

    def _check_turn(self, *, is_training: bool, what: str) -> None:
        if self._is_training != is_training:
            raise self._refuse(
                what,
                "a result of the task at hand" if self._is_training else "a task, then its result, once a round",
                "another task" if self._is_training else "a result that belongs to no task",
            )

    def _refuse(self, what: str, expected: str, got: str) -> ProtocolError:
        return ProtocolError(
            f"the server asks {self._party} for {what} out of turn",
            expected=expected,
            got=got,
            cure="ask the server's operator; the job says how many rounds there are",
        )
