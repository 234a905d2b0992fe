"""The training loop of one party: local work, a weighted mean over all parties, the same server step everywhere."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.errors import InputError
from hekat.model import Model, Optimiser, OptimiserState, make_model, make_optimiser
from hekat.protocol.horizontal.aggregation import Aggregation, Counter, FloatArray, Tensors, scale_by_weight
from hekat.protocol.horizontal.clipping import AdaptiveClipping, make_policy, sizes_of, total_clipped
from hekat.protocol.horizontal.settings import HorizontalSettings, TrainingSettings
from hekat.protocol.horizontal.standardise import Standardiser, fit_standardiser
from hekat.protocol.horizontal.stopwatch import Stopwatch

LOSS_UNITS = 2**20
# A mean loss beyond this is divergence, not training: the run stops and says so. Half the square of a label of a
# billion is below it.
MAX_LOSS = 2**60


@dataclass(frozen=True)
class RoundRecord:
    """What one party may know of one finished round: aggregates only."""

    round: int
    loss: float
    clipped_count: int
    value_count: int
    bounds: dict[str, float]
    row_count: int
    party_count: int


@dataclass
class TrainingState:
    """Everything a checkpoint holds; equal bytes at every party."""

    parameters: Tensors
    optimiser_state: OptimiserState
    standardiser: Standardiser
    rounds_done: int = 0
    bounds: dict[str, float] = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)
    finished: bool = False


@dataclass(frozen=True)
class LocalRun:
    """What a training loop needs beside settings and data; the callbacks never see another party's values."""

    stopwatch: Stopwatch
    on_round: Callable[[RoundRecord, TrainingState], None]
    save: Callable[[TrainingState], None]
    resume_from: TrainingState | None = None
    digest_key: bytes = field(default=b"", repr=False)


def build_model(settings: HorizontalSettings, column_count: int) -> Model:
    """The model that the settings name, for tables of `column_count` columns."""
    class_count = len(settings.classes) if settings.classes is not None else None
    spec = settings.model
    return make_model(spec.name, column_count, class_count, hidden=spec.hidden, l2=spec.l2)


def build_optimiser(training: TrainingSettings) -> Optimiser:
    """The server optimiser: at the learning rate, but for fedavg with sgd or momentum a step of 1; or as it is set.

    adam and rmsprop move each weight by about their rate, however small the mean change is: 1 would be far too much.
    """
    takes_whole_change = training.algorithm == "fedavg" and training.optimiser in ("sgd", "momentum")
    rate = 1.0 if takes_whole_change else training.learning_rate
    return make_optimiser(training.optimiser, **{"learning_rate": rate, **training.optimiser_settings})


def train(
    aggregation: Aggregation, table: Table, settings: HorizontalSettings, run: LocalRun, *, party: str
) -> TrainingState:
    """Train to the last round or to the stop rule; returns the state every party ends with.

    1. agree on the standardiser (once);
    2. each round: the local update, clipped and averaged over the parties, one server step;
    3. compare model digests and agree whether to stop.
    """
    trainer = _Trainer(aggregation, table, settings, run, party)
    while trainer.state.rounds_done < settings.training.round_count and not trainer.state.finished:
        trainer.play_round()
    return trainer.state


class _Trainer:
    """One party's loop: what stays the same over the rounds, and the state that changes."""

    def __init__(
        self, aggregation: Aggregation, table: Table, settings: HorizontalSettings, run: LocalRun, party: str
    ) -> None:
        if table.labels is None:
            raise InputError(
                f"party {party} has no labels",
                expected="a label for every row",
                got="a table without labels",
                cure="name the label column in the party's site file",
            )
        self._aggregation, self._settings, self._run, self._party = aggregation, settings, run, party
        self._labels = table.labels
        self._model = build_model(settings, table.features.shape[1])
        self._optimiser = build_optimiser(settings.training)
        self.state = run.resume_from or self._first_state(table)
        with run.stopwatch.measure("train"):
            self._features = self.state.standardiser.apply(table.features)
        self._policy = make_policy(settings.codec, aggregation, self.state.bounds)

    def _first_state(self, table: Table) -> TrainingState:
        column_count = table.features.shape[1]
        standardiser = Standardiser(np.zeros(column_count), np.ones(column_count))
        if self._settings.training.standardise:
            standardiser = fit_standardiser(self._aggregation, table.features, self._settings.weight_max)
        parameters = self._model.init(self._settings.model.seed)
        return TrainingState(parameters, self._optimiser.init_state(parameters), standardiser)

    def play_round(self) -> None:
        """One round, from the local update to the agreement on the model."""
        settings, state = self._settings, self.state
        number = state.rounds_done + 1
        step = f"round-{number}"
        update, loss, weight = self._update_locally(number)
        scaled = scale_by_weight(update, weight, settings.weight_max)
        bounds = self._policy.bounds_for(self._aggregation, step, scaled)
        counters = self._policy.counters_for(scaled, bounds, len(settings.parties))
        counters.append(_loss_counter(loss, weight, settings.weight_max))
        aggregate = self._aggregation.weighted_mean(step, update, bounds, weight, counters)
        self._policy.learn(aggregate.counters, sizes_of(scaled), aggregate.party_count)
        self._apply(aggregate.mean)
        state.rounds_done = number
        state.bounds = self._policy.known if isinstance(self._policy, AdaptiveClipping) else {}
        state.losses.append(aggregate.counters["loss"] / LOSS_UNITS / aggregate.weight_sum)
        state.finished = _should_stop(state.losses, settings.training)
        self._aggregation.finish_round(step, digest_model(state, self._run.digest_key), state.finished)
        self._run.save(state)
        record = RoundRecord(
            round=number,
            loss=state.losses[-1],
            clipped_count=total_clipped(aggregate.counters, list(scaled)),
            value_count=sum(sizes_of(scaled).values()) * aggregate.party_count,
            bounds=bounds,
            row_count=aggregate.weight_sum,
            party_count=aggregate.party_count,
        )
        self._run.on_round(record, state)

    def _update_locally(self, number: int) -> tuple[Tensors, float, int]:
        training = self._settings.training
        party_number = self._settings.parties.index(self._party)
        rng = np.random.default_rng([training.seed, number, party_number])
        with self._run.stopwatch.measure("train"):
            update, loss, weight = local_update(
                self._model, self.state.parameters, self._features, self._labels, training, rng
            )
        _check_finite(self._party, number, update, loss)
        return update, loss, weight

    def _apply(self, mean: Tensors) -> None:
        """The server step, the same at every party. A mean change of weights points the way, a gradient against it."""
        averages_weights = self._settings.training.algorithm == "fedavg"
        direction = {name: -values for name, values in mean.items()} if averages_weights else mean
        with self._run.stopwatch.measure("train"):
            self.state.parameters, self.state.optimiser_state = self._optimiser.step(
                self.state.parameters, direction, self.state.optimiser_state
            )


def local_update(
    model: Model,
    parameters: Tensors,
    features: FloatArray,
    labels: npt.NDArray[np.float64] | npt.NDArray[np.int64],
    training: TrainingSettings,
    rng: np.random.Generator,
) -> tuple[Tensors, float, int]:
    """The update, the mean loss at the round's start, and the rows behind both.

    `fedsgd`: the gradient of one batch. `fedavg`: the change of the weights after local epochs of mini-batch descent.
    """
    row_count = features.shape[0]
    batch_rows = min(training.batch_rows or row_count, row_count)
    if training.algorithm == "fedsgd":
        chosen = rng.permutation(row_count)[:batch_rows] if batch_rows < row_count else np.arange(row_count)
        loss, gradient = model.loss_and_gradient(parameters, features[chosen], labels[chosen])
        return gradient, loss, batch_rows
    loss = model.loss(parameters, features, labels)
    current = {name: values.copy() for name, values in parameters.items()}
    for _ in range(training.local_epochs):
        order = rng.permutation(row_count)
        for start in range(0, row_count, batch_rows):
            rows = order[start : start + batch_rows]
            _, gradient = model.loss_and_gradient(current, features[rows], labels[rows])
            current = {name: current[name] - training.learning_rate * gradient[name] for name in current}
    return {name: current[name] - parameters[name] for name in parameters}, loss, row_count


def digest_model(state: TrainingState, key: bytes) -> bytes:
    """A keyed digest of parameters and standardiser; equal only where every byte is."""
    digest = hmac.new(key or b"unkeyed", digestmod=hashlib.sha256)
    standardiser = {"standardiser/mean": state.standardiser.mean, "standardiser/spread": state.standardiser.spread}
    arrays = {**state.parameters, **standardiser}
    for name in sorted(arrays):
        values = np.ascontiguousarray(arrays[name], dtype="<f8")
        header = f"{name}|{values.shape}|".encode()
        digest.update(len(header).to_bytes(4, "little") + header + values.tobytes())
    return digest.digest()


def _loss_counter(loss: float, weight: int, weight_max: int) -> Counter:
    return Counter("loss", round(loss * weight * LOSS_UNITS), maximum=MAX_LOSS * weight_max * LOSS_UNITS)


def _check_finite(party: str, number: int, update: Tensors, loss: float) -> None:
    broken = sorted(name for name, values in update.items() if not np.isfinite(values).all())
    if broken or not 0 <= loss <= MAX_LOSS:
        raise InputError(
            f"training diverged at party {party} in round {number}",
            expected="finite updates and a loss that stays small",
            got=f"non-finite values in {', '.join(broken)}" if broken else "a loss beyond every bound",
            cure="lower training.learning_rate, set training.standardise = true, or give labels a smaller unit",
        )


def _should_stop(losses: list[float], training: TrainingSettings) -> bool:
    """True once the best loss of the last `patience` rounds is not `min_improvement` below the best before them."""
    if not training.patience or len(losses) <= training.patience:
        return False
    recent, before = losses[-training.patience :], losses[: -training.patience]
    return min(recent) > min(before) - training.min_improvement
