"""A split network of a guest and a host: an epoch encrypted beside the same protocol in the clear, and AUC.

Every role is played on this machine, one after the other, each on all cores, messages sealed. An epoch's figure is the
median of a run's epochs but the first, which also sets up: sessions, keys, and where the host's features never change
their encryption, once a run. Losses are held against the same network with all columns in one place, in float64.
"""

from __future__ import annotations

import hashlib
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

from hekat.channel import Channel, PartyKey
from hekat.data import Table
from hekat.ledger import RecordedChannel
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.role_session import RoleSession
from hekat.protocol.vertical_network.model_part import NetworkPart
from hekat.protocol.vertical_network.network_settings import NetworkShape, NetworkTraining
from hekat.protocol.vertical_network.party_run import NetworkRecord, NetworkRun
from hekat.protocol.vertical_network.prediction.predict_scores import predict_scores
from hekat.protocol.vertical_network.prediction.settings import NetworkPredictionSettings
from hekat.protocol.vertical_network.roles import run_role
from hekat.protocol.vertical_network.sealed.settings_rules import TRAINING as SEALED_TRAINING
from hekat.protocol.vertical_network.settings import (
    LABELS_ACCEPTED,
    ROTATION_ACCEPTED,
    SEALED,
    SHARED,
    SLOPES_ACCEPTED,
    VerticalNetworkSettings,
)
from networks.joined_network import JoinedNetwork, train_joined
from networks.joined_sealed import JoinedSealed, train_joined_sealed
from trees.columns import MEGABYTE, Say, judge
from trees.run import add_steps, mean_steps, read_stopwatches
from vertical.data import GUEST, HOST, JoinedColumns, draw_columns

FloatArray = npt.NDArray[np.float64]

ROWS, GUEST_COLUMNS, HOST_COLUMNS, SEED = 24_000, 13, 10, 7
EPOCHS, TURNS = 4, 3
SEEDS, AUC_EPOCHS, MOST_BELOW = 5, 10, 0.005
TO_REACH = {
    "frozen": {"seconds": 3.5, "mb": 130.0, "times_clear": 10.0},
    "source": {"times_clear": 10.0},
    "trained": {"seconds": 5.0, "times_clear": 10.0},
}
TO_REACH_SEALED = {"times_clear": 10.0}
# Rounding of features, weights and slopes, over the batches of an epoch.
LOSS_TOLERANCE = 1e-3
KNOWN = {
    "seconds": "FATE 14,115 s, FLBooster 71.8 s an epoch at 100,000 x 10,000, 2048 bits (FLBooster, Table III)",
    "times_clear": "HE and traffic take over 99.5% of FATE's epoch (FLBooster, Table VI, of its Homo LR)",
}
PROTOCOL = "vertical_network"
TIMEOUT_S = 1800.0


@dataclass(frozen=True)
class _Moment:
    """The clocks when the guest had ended an epoch, or before the first; steps are each role's."""

    wall_s: float
    cpu_s: float
    sent_bytes: int
    steps_s: Mapping[str, Mapping[str, float]]


@dataclass
class TrainedNetwork:
    """What one run left: each party's part, the guest's losses, the clocks after each epoch."""

    parts: Mapping[str, NetworkPart] = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)
    moments: list[_Moment] = field(default_factory=list)

    @property
    def epoch_s(self) -> float:
        """Median seconds of an epoch, of all but the first."""
        return self._median(lambda moment: moment.wall_s)

    @property
    def epoch_cpu_s(self) -> float:
        """Median processor seconds of an epoch, of all cores and roles together."""
        return self._median(lambda moment: moment.cpu_s)

    @property
    def epoch_bytes(self) -> float:
        """Median sealed bytes that all parties send in an epoch."""
        return self._median(lambda moment: moment.sent_bytes)

    @property
    def first_s(self) -> float:
        """Seconds of the first epoch, and of all before it."""
        return self.moments[1].wall_s - self.moments[0].wall_s

    @property
    def first_bytes(self) -> int:
        """Sealed bytes of the first epoch, and of all before it."""
        return self.moments[1].sent_bytes

    @property
    def steps_s(self) -> dict[str, float]:
        """Mean seconds of an epoch by step, both roles together."""
        first, last = self.moments[1].steps_s, self.moments[-1].steps_s
        count = len(self.moments) - 2
        return add_steps(mean_steps(first[role], last[role], count) for role in last)

    def _median(self, read: Callable[[_Moment], float]) -> float:
        return statistics.median(read(later) - read(one) for one, later in pairwise(self.moments[1:]))


def measure_split(
    host_bottom: str,
    say: Say,
    *,
    form: str = SHARED,
    rows: int = ROWS,
    epochs: int = EPOCHS,
    turns: int = TURNS,
) -> dict[str, Any]:
    """A row of results: medians over turns, ratios within a turn. Form GUEST_LAYER is there to compare.

    Form SEALED has bottoms `source`.
    """
    data = draw_columns(rows, GUEST_COLUMNS, HOST_COLUMNS, SEED)
    settings = make_settings(host_bottom, NetworkTraining(epochs=epochs), form)
    named = host_bottom if form == SHARED else f"{host_bottom}, {form}"
    in_clear, seeds, tables = replace(settings, protection="none"), seeds_of(SEED), data.tables()
    encrypted, clear = [], []
    for turn in range(turns):
        encrypted.append(train(settings, tables, seeds))
        clear.append(train(in_clear, tables, seeds))
        say(
            f"split network, {named}: turn {turn + 1} of {turns}, {encrypted[-1].epoch_s:.2f} s an epoch, in the "
            f"clear {clear[-1].epoch_s:.2f} s"
        )
    joined = join(settings, tables, seeds).losses
    error = max(check_losses(run.losses, joined) for run in (*encrypted, *clear))
    seconds = sorted(run.epoch_s for run in encrypted)
    shape = settings.network
    row = {
        "part": "split_network",
        "what": f"split network, {rows:,} x {GUEST_COLUMNS} + {HOST_COLUMNS}, {named}",
        "form": form,
        "host_bottom": host_bottom,
        "layer": f"{shape.host_width if host_bottom != 'source' else HOST_COLUMNS} x {shape.units}",
        "batch_rows": settings.training.batch_rows,
        "epochs": epochs,
        "turns": turns,
        "seconds": statistics.median(seconds),
        "least_s": seconds[0],
        "most_s": seconds[-1],
        "cpu_s": statistics.median(run.epoch_cpu_s for run in encrypted),
        "clear_seconds": statistics.median(run.epoch_s for run in clear),
        "clear_cpu_s": statistics.median(run.epoch_cpu_s for run in clear),
        "times_clear": _ratio(encrypted, clear, "epoch_s"),
        "times_clear_cpu": _ratio(encrypted, clear, "epoch_cpu_s"),
        "mb": encrypted[0].epoch_bytes / MEGABYTE,
        "clear_mb": clear[0].epoch_bytes / MEGABYTE,
        "first_s": statistics.median(run.first_s for run in encrypted),
        "first_mb": encrypted[0].first_bytes / MEGABYTE,
        "loss": encrypted[0].losses[-1],
        "largest_loss_error": error,
        "steps_s": encrypted[0].steps_s,
        "clear_steps_s": clear[0].steps_s,
    }
    return judge(row, TO_REACH[host_bottom] if form == SHARED else TO_REACH_SEALED if form == SEALED else {}, KNOWN)


def measure_auc(
    host_bottom: str,
    data: JoinedColumns,
    train_rows: npt.NDArray[np.int64],
    test_rows: npt.NDArray[np.int64],
    say: Say,
    *,
    form: str = SHARED,
    seeds: int = SEEDS,
    epochs: int = AUC_EPOCHS,
) -> dict[str, Any]:
    """Means over seeds, which draw weights and batches, beside the same networks with all columns in one place."""
    tables, tests = data.tables(train_rows), data.tables(test_rows)
    found, joined = [], []
    named = host_bottom if form == SHARED else f"{host_bottom}, {form}"
    for seed in range(1, seeds + 1):
        settings = make_settings(host_bottom, NetworkTraining(epochs=epochs, seed=seed), form)
        run = train(settings, tables, seeds_of(seed))
        labels = data.labels[test_rows]
        found.append(float(roc_auc_score(labels, score(settings, run.parts, tests))))
        joined.append(float(roc_auc_score(labels, join(settings, tables, seeds_of(seed)).scores(tests))))
        say(f"split network, {named}, AUC of seed {seed}: {found[-1]:.4f}, joined {joined[-1]:.4f}")
    row = {
        "part": "split_network",
        "what": f"split network, {data.what}, {named}, {epochs} epochs",
        "seeds": seeds,
        "auc": statistics.mean(found),
        "spread": statistics.pstdev(found),
        "joined_auc": statistics.mean(joined),
    }
    row["below"] = row["joined_auc"] - row["auc"]
    return judge(row, {"below": MOST_BELOW}, {})


def make_settings(host_bottom: str, training: NetworkTraining, form: str = SHARED) -> VerticalNetworkSettings:
    """A guest and a host at the defaults of everything else: an interactive layer of 32 x 32, batches of 1,024.

    A sealed network has 31 squares and a linear unit, and its own rate and limit of columns.
    """
    is_sealed = form == SEALED
    if is_sealed:
        training = replace(SEALED_TRAINING, epochs=training.epochs, seed=training.seed)
    return VerticalNetworkSettings(
        GUEST,
        (HOST,),
        "binary",
        ("0", "1"),
        form=form,
        host_bottom=host_bottom,  # type: ignore[arg-type]
        network=NetworkShape(units=31) if is_sealed else NetworkShape(),
        training=training,
        rotation_accepted=None if is_sealed else ROTATION_ACCEPTED,
        labels_accepted=LABELS_ACCEPTED if host_bottom == "trained" else None,
        slopes_accepted=SLOPES_ACCEPTED if host_bottom == "trained" else None,
    )


def join(
    settings: VerticalNetworkSettings, tables: Mapping[str, Table], seeds: Mapping[str, int]
) -> JoinedNetwork | JoinedSealed:
    """The same network with all columns in one place."""
    return (train_joined_sealed if settings.form == SEALED else train_joined)(settings, tables, seeds)


def seeds_of(seed: int) -> dict[str, int]:
    """What each party draws its weights from, so that other trainings can draw the same."""
    return {GUEST: seed, HOST: 1000 + seed}


def train(settings: VerticalNetworkSettings, tables: Mapping[str, Table], seeds: Mapping[str, int]) -> TrainedNetwork:
    """All roles of one training; an epoch ends when the guest has saved it."""
    trained = TrainedNetwork()
    sessions = _make_sessions(settings)

    def note() -> None:
        sent = sum(session.sent_bytes for session in sessions.values())
        trained.moments.append(_Moment(time.perf_counter(), time.process_time(), sent, read_stopwatches(sessions)))

    def on_epoch(record: NetworkRecord) -> None:
        if record.loss is not None:
            trained.losses.append(record.loss)
            note()

    def play(channel: Channel) -> NetworkPart:
        name = channel.party

        def role(recorded: RecordedChannel) -> NetworkPart:
            run = NetworkRun(sessions[name].stopwatch, on_epoch=on_epoch, seed=seeds[name])
            return run_role(recorded, tables[name], settings, run)

        return sessions[name].play(channel, role)

    note()
    trained.parts = play_in_process(dict.fromkeys(settings.everyone, play), timeout_s=TIMEOUT_S)
    return trained


def score(
    settings: VerticalNetworkSettings, parts: Mapping[str, NetworkPart], tables: Mapping[str, Table]
) -> FloatArray:
    """The guest's logits (rows,) of a joint prediction."""
    sessions = _make_sessions(settings)

    def play(channel: Channel) -> FloatArray | None:
        name = channel.party

        def role(recorded: RecordedChannel) -> FloatArray | None:
            run = NetworkRun(sessions[name].stopwatch)
            return predict_scores(recorded, parts[name], tables[name], NetworkPredictionSettings.of(parts[name]), run)

        return sessions[name].play(channel, role)

    scores = play_in_process(dict.fromkeys(settings.everyone, play), timeout_s=TIMEOUT_S)[settings.guest]
    assert scores is not None
    return np.asarray(scores[:, 0])


def check_losses(found: Sequence[float], joined: Sequence[float]) -> float:
    """The largest difference of an epoch's loss. Raises AssertionError where it is too large."""
    error = max(abs(one - other) for one, other in zip(found, joined, strict=True))
    assert error <= LOSS_TOLERANCE, f"a loss is {error:.3g} from the joined network's, allowed {LOSS_TOLERANCE:g}"
    return error


def _make_sessions(settings: VerticalNetworkSettings) -> dict[str, RoleSession]:
    return make_sessions(
        {name: PartyKey.generate() for name in settings.everyone},
        run_id="benchmark",
        protocol=PROTOCOL,
        job_digest=hashlib.sha256(repr(settings).encode()).digest(),
    )


def _ratio(runs: Sequence[TrainedNetwork], others: Sequence[TrainedNetwork], name: str) -> float:
    return statistics.median(getattr(one, name) / getattr(other, name) for one, other in zip(runs, others, strict=True))
