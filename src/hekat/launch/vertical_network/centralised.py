"""Compares the run with the same network on the joined rows, only on one machine and with its site's permission.

The same layers, batches, optimisers and rates in floats: bottoms of all parties, the interactive layer and the top, or
the squares of a sealed network. Its weights begin elsewhere, since the run's are secrets of its parties; its labels are
as they are, also where the run's were replaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.job.vertical_network.job_file import NetworkJob
from hekat.launch.vertical_network.joined_columns import joined_columns
from hekat.launch.vertical_network.joined_sealed import JoinedSealed
from hekat.model.split import Bottom, BottomTask, TopTask, source_columns
from hekat.protocol.vertical.guest_labels import read_labels
from hekat.protocol.vertical_network.guest_side.own_network import OwnNetwork
from hekat.protocol.vertical_network.guest_side.top import dense_top
from hekat.protocol.vertical_network.model_part import NetworkPart
from hekat.protocol.vertical_network.own_features import default_bottom
from hekat.protocol.vertical_network.row_plan import RowPlan
from hekat.protocol.vertical_network.settings import SEALED, VerticalNetworkSettings
from hekat.run.vertical.role import PartyOutcome
from hekat.summary.metrics_of_outputs import metrics_of_outputs
from hekat.summary.vertical.metrics import labels_of
from hekat.summary.vertical_network.summary_shape import Compared, Result

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """What stands in the summary: how far scores are apart, and the metrics of the others."""

    compared: Compared
    results: list[Result]


@dataclass
class _Side:
    """One party's columns (rows, columns) in training and in test rows, and its bottom; None at a guest without any."""

    columns: FloatArray
    test_columns: FloatArray
    bottom: Bottom | None

    @property
    def width(self) -> int:
        return 0 if self.bottom is None else self.bottom.width


@dataclass
class _HostWeights:
    """A host's weights of the interactive layer, moved as the shares are."""

    weight: FloatArray
    velocity: FloatArray

    def move(self, features: FloatArray, slopes: FloatArray, settings: VerticalNetworkSettings) -> None:
        training, rows = settings.training, len(slopes)
        gradient = features.T @ slopes + training.l2 * rows * self.weight
        momentum = training.momentum if training.shared_optimiser == "momentum" else 0.0
        self.velocity = momentum * self.velocity + gradient
        self.weight = self.weight - training.shared_rate / rows * self.velocity


def compare_centralised(
    job: NetworkJob, outcomes: Mapping[str, PartyOutcome[NetworkPart]], losses: Sequence[float | None]
) -> Comparison:
    """Train on the rows of all `outcomes` together for as many epochs as the run did; `losses` are the run's."""
    settings = job.settings
    guest = outcomes[settings.guest]
    # The job has test data, and the guest receives its scores.
    assert guest.test_rows is not None
    assert guest.scores is not None
    joined = (JoinedSealed if settings.form == SEALED else _Joined)(settings, outcomes)
    loss = None
    for _ in range(max(1, guest.part.epochs)):
        loss = joined.train_epoch()
    scores = joined.scores()
    test_labels = labels_of(guest.test_rows, settings.classes)
    compared = Compared(
        rows=len(test_labels),
        largest_score_difference=float(np.abs(scores - guest.scores).max()),
        loss=losses[-1] if losses else None,
        centralised_loss=loss,
    )
    metrics = metrics_of_outputs(settings.classes, scores, test_labels)
    return Comparison(compared, [Result(name="centralised network", kind="centralised", metrics=metrics)])


class _Joined:
    """The network of all parties in one place."""

    def __init__(self, settings: VerticalNetworkSettings, outcomes: Mapping[str, PartyOutcome[NetworkPart]]) -> None:
        rng = np.random.default_rng()
        self._settings, guest = settings, outcomes[settings.guest].rows
        self._plan = RowPlan.of(len(guest), settings.training)
        self._targets, self._mean, self._spread = _targets_of(guest, settings)
        self._sides = {
            name: _make_side(name, outcomes[name], settings, self._plan, int(rng.integers(2**62)))
            for name in settings.parties
        }
        inputs = sum(side.width for side in self._sides.values())
        training = settings.training
        top = TopTask(settings.network.units, settings.output_count, training.learning_rate, int(rng.integers(2**62)))
        self._network = OwnNetwork(
            self._sides[settings.guest].bottom,
            dense_top(settings.network, top),
            None if settings.classes is None else len(settings.classes),
            units=settings.network.units,
            learning_rate=training.learning_rate,
            l2=training.l2,
            seed=int(rng.integers(2**62)),
            input_count=inputs,
        )
        shape = settings.network.units
        self._hosts = {
            name: _HostWeights(
                rng.normal(scale=(2.0 / inputs) ** 0.5, size=(self._sides[name].width, shape)),
                np.zeros((self._sides[name].width, shape)),
            )
            for name in settings.hosts
        }

    def train_epoch(self) -> float:
        """Take the steps of an epoch; the mean loss of its rows, each before its batch's step."""
        total, settings = 0.0, self._settings
        guest = self._sides[settings.guest]
        for rows in self._plan.batches:
            own = self._network.forward(guest.columns[rows])
            features = {name: self._bottom_of(name).forward(self._sides[name].columns[rows]) for name in self._hosts}
            hosts = sum(features[name] @ one.weight for name, one in self._hosts.items())
            loss, slopes = self._network.finish(own + hosts, self._targets[rows])
            self._network.backward()
            for name, one in self._hosts.items():
                bottom = self._bottom_of(name)
                if bottom.trains:
                    bottom.step(bottom.backward(slopes @ one.weight.T / len(rows)))
                one.move(features[name], slopes, settings)
            total += loss * len(rows)
        return total / len(self._plan.trained)

    def scores(self) -> FloatArray:
        """The outputs (rows, K) of the test rows."""
        hosts = sum(
            self._bottom_of(name).evaluate(self._sides[name].test_columns) @ one.weight
            for name, one in self._hosts.items()
        )
        own = self._sides[self._settings.guest].test_columns
        return np.asarray(self._network.evaluate(own, np.asarray(hosts)) * self._spread + self._mean)

    def _bottom_of(self, host: str) -> Bottom:
        bottom = self._sides[host].bottom
        assert bottom is not None  # a host has columns
        return bottom


def _make_side(
    name: str, outcome: PartyOutcome[NetworkPart], settings: VerticalNetworkSettings, plan: RowPlan, seed: int
) -> _Side:
    training, shape, is_guest = settings.training, settings.network, name == settings.guest
    columns, tested = joined_columns(outcome, training, is_guest=is_guest)
    has_no_map = not is_guest and settings.host_bottom == "source"
    width = columns.shape[1] if has_no_map else shape.guest_width if is_guest else shape.width_of(name)
    trains = is_guest or settings.host_bottom == "trained"
    task = BottomTask(
        columns[plan.trained],
        width,
        trains,
        seed,
        training.learning_rate,
        shape.bottom_hidden,
        shape.activation,
    )
    make = source_columns if has_no_map else default_bottom(trains)
    return _Side(columns, tested, make(task) if columns.shape[1] else None)


def _targets_of(table: Table, settings: VerticalNetworkSettings) -> tuple[FloatArray, float, float]:
    """Targets (rows, K), and the mean and spread that numbers are standardised by."""
    labels = read_labels(table, settings)
    if settings.classes is None:
        numbers = labels.astype(np.float64)
        mean, spread = float(numbers.mean()), float(numbers.std())
        return ((numbers - mean) / spread)[:, np.newaxis], mean, spread
    one_hot = np.equal.outer(labels.astype(np.int64), np.arange(len(settings.classes))).astype(np.float64)
    return one_hot[:, 1:] if len(settings.classes) == 2 else one_hot, 0.0, 1.0
