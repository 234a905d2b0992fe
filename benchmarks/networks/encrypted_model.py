"""Training on an encrypted model: an epoch at two hosts beside the clear run, NumPy's steps and the papers' form.

A run is everything from opening sealed channels to the owner's model, every role on this machine, one after the other;
an epoch is a round. Means, spreads and maps are made once a run, so a run of one epoch takes longer than each further
epoch; both are measured. Weights are held against the steps themselves, in float64, before times count.
"""

from __future__ import annotations

import hashlib
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from hekat.channel import Channel, PartyKey
from hekat.data import Table
from hekat.ledger import RecordedChannel
from hekat.protocol.encrypted_model.owned_model import OwnedModel
from hekat.protocol.encrypted_model.party_run import EncryptedModelRun, RoundRecord
from hekat.protocol.encrypted_model.roles import run_role
from hekat.protocol.encrypted_model.settings import EncryptedModelSettings
from hekat.protocol.encrypted_model.training_settings import EncryptedTraining
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.vertical.batches import draw_batches
from networks.paper_form import measure_paper_form
from trees.columns import MEGABYTE, Say, judge
from vertical.data import JoinedColumns, draw_columns, stored_keys

FloatArray = npt.NDArray[np.float64]

HOSTS, ARBITER, AGGREGATOR, OWNER = ("north", "south"), "notary", "hub", "buyer"
ROWS, COLUMNS, KEY_BITS, SEED = 30_000, 23, 2048, 7
EPOCHS, TURNS = 6, 5
TRAINING = EncryptedTraining(rounds=EPOCHS, batch_rows=1024)
# Of weights, on the scale of standardised columns: one unit of 2^-32 a truncation, and the map at 2^-24.
WEIGHT_TOLERANCE = 1e-5
TO_REACH = {"times_clear": 3.0, "mb": 2.0}
KNOWN = "FLASH, Table 1: 60.74 times the clear run"
PROTOCOL = "encrypted_model"
TIMEOUT_S = 600.0
SEEDS, AUC_EPOCHS, MOST_BELOW = 5, 20, 0.005


@dataclass
class TrainedModel:
    """What one run left: the owner's model, the clocks when all roles had ended each round, and bytes sent."""

    model: OwnedModel | None = None
    began: tuple[float, float] = (0.0, 0.0)
    ended: tuple[float, float] = (0.0, 0.0)
    rounds: dict[int, tuple[float, float, int]] = field(default_factory=dict)
    sent_bytes: int = 0
    steps_s: dict[str, float] = field(default_factory=dict)

    @property
    def epoch_s(self) -> float:
        """Seconds of an epoch, of all but the first."""
        return self._per_round(0)

    @property
    def epoch_cpu_s(self) -> float:
        """Processor seconds of an epoch, of all cores together, of all but the first."""
        return self._per_round(1)

    @property
    def epoch_bytes(self) -> float:
        """Sealed bytes that all roles send in an epoch, of all but the first."""
        return self._per_round(2)

    @property
    def whole_s(self) -> float:
        """Seconds of the whole run."""
        return self.ended[0] - self.began[0]

    @property
    def whole_cpu_s(self) -> float:
        """Processor seconds of the whole run, of all cores together."""
        return self.ended[1] - self.began[1]

    def _per_round(self, which: int) -> float:
        first, last = self.rounds[min(self.rounds)], self.rounds[max(self.rounds)]
        return (last[which] - first[which]) / (max(self.rounds) - min(self.rounds))


def measure_encrypted_model(protection: str, say: Say, *, rows: int = ROWS, turns: int = TURNS) -> dict[str, Any]:
    """A row of results: medians over turns, ratios within a turn; turns of one epoch and of EPOCHS."""
    data = draw_columns(rows, COLUMNS - COLUMNS // 2, COLUMNS // 2, SEED)
    tables = split_rows(data.joined, data.labels, np.arange(rows))
    settings = make_settings(protection, TRAINING)
    in_clear = replace(settings, protection="none")
    once, once_in_clear = (replace(one, training=replace(TRAINING, rounds=1)) for one in (settings, in_clear))
    runs: dict[str, list[TrainedModel]] = {"epochs": [], "clear": [], "first": [], "first_clear": []}
    for turn in range(turns):
        for name, one in (("epochs", settings), ("clear", in_clear), ("first", once), ("first_clear", once_in_clear)):
            runs[name].append(train(one, tables))
        say(
            f"encrypted model, {protection}: turn {turn + 1} of {turns}, {1e3 * runs['epochs'][-1].epoch_s:.1f} ms an "
            f"epoch, in the clear {1e3 * runs['clear'][-1].epoch_s:.1f} ms; a run of one epoch "
            f"{runs['first'][-1].whole_s:.2f} s and {runs['first_clear'][-1].whole_s:.2f} s"
        )
    plain, numpy_s = train_in_steps(tables, TRAINING)
    error = max(check_weights(run, plain) for name in ("epochs", "clear") for run in runs[name])
    seconds = sorted(run.whole_s for run in runs["first"])
    row = {
        "part": "encrypted_model",
        "what": f"encrypted-model regression, {rows:,} x {COLUMNS}, {len(HOSTS)} hosts, {protection}",
        "shape": f"{rows:,} x {COLUMNS}",
        "protection": protection,
        "key_bits": KEY_BITS if protection == "paillier" else None,
        "batch_rows": TRAINING.batch_rows,
        "turns": turns,
        "seconds": statistics.median(seconds),
        "least_s": seconds[0],
        "most_s": seconds[-1],
        "cpu_s": statistics.median(run.whole_cpu_s for run in runs["first"]),
        "clear_seconds": statistics.median(run.whole_s for run in runs["first_clear"]),
        "clear_cpu_s": statistics.median(run.whole_cpu_s for run in runs["first_clear"]),
        "times_clear": _ratio(runs["first"], runs["first_clear"], "whole_s"),
        "mb": runs["first"][0].sent_bytes / MEGABYTE,
        "clear_mb": runs["first_clear"][0].sent_bytes / MEGABYTE,
        "further_s": statistics.median(run.epoch_s for run in runs["epochs"]),
        "further_cpu_s": statistics.median(run.epoch_cpu_s for run in runs["epochs"]),
        "further_clear_s": statistics.median(run.epoch_s for run in runs["clear"]),
        "further_times_clear": _ratio(runs["epochs"], runs["clear"], "epoch_s"),
        "further_mb": runs["epochs"][0].epoch_bytes / MEGABYTE,
        "numpy_s": numpy_s,
        "largest_weight_error": error,
        "steps_s": runs["first"][0].steps_s,
        "clear_steps_s": runs["first_clear"][0].steps_s,
    }
    aims = TO_REACH if protection == "lattice" else {}
    return judge(row, aims, {"times_clear": KNOWN})


def measure_peer(ours: Mapping[str, Any], say: Say) -> dict[str, Any]:
    """The papers' form at the same shape, scaled from few rows, and how many of our epochs it takes."""
    peer = measure_paper_form(ROWS, COLUMNS, TRAINING.batch_rows, KEY_BITS, SEED)
    say(f"the papers' form, gmpy2, {KEY_BITS} bits: {peer['scaled_s']:,.0f} s an epoch")
    return peer | {"part": "papers_form", "times_ours": peer["scaled_s"] / ours["seconds"]}


def measure_auc(data: JoinedColumns, train_rows: Any, test_rows: Any, say: Say) -> dict[str, Any]:
    """Means over seeds, which draw hosts' rows and batches, beside the minimum of the same loss over all rows in one
    place; what scikit-learn's log loss reaches there stands beside."""
    features, labels = data.joined, data.labels
    centre, spread = features[train_rows].mean(axis=0), features[train_rows].std(axis=0)
    columns = np.column_stack([(features - centre) / spread, np.ones(len(features))])
    settings = make_settings("lattice", replace(TRAINING, rounds=AUC_EPOCHS))
    found = []
    for seed in range(1, SEEDS + 1):
        tables = split_rows(features, labels, np.random.default_rng(seed).permutation(train_rows))
        model = train(replace(settings, training=replace(settings.training, seed=seed)), tables).model
        assert model is not None
        found.append(float(roc_auc_score(labels[test_rows], model.scores(features[test_rows])[:, 0])))
        say(f"encrypted model, AUC of seed {seed}: {found[-1]:.4f}")
    # The Taylor loss is a square's: its minimum solves least squares.
    weights = np.linalg.lstsq(columns[train_rows], 2.0 * labels[train_rows] - 1.0, rcond=None)[0]
    exact = LogisticRegression(max_iter=1000).fit(columns[train_rows, :-1], labels[train_rows])
    row = {
        "part": "encrypted_model",
        "what": f"encrypted-model regression, {data.what}, {len(HOSTS)} hosts",
        "seeds": SEEDS,
        "auc": statistics.mean(found),
        "spread": statistics.pstdev(found),
        "joined_auc": float(roc_auc_score(labels[test_rows], columns[test_rows] @ weights)),
        "log_loss_auc": float(roc_auc_score(labels[test_rows], exact.decision_function(columns[test_rows, :-1]))),
    }
    row["below"] = row["joined_auc"] - row["auc"]
    return judge(row, {"below": MOST_BELOW}, {})


def make_settings(protection: str, training: EncryptedTraining) -> EncryptedModelSettings:
    """Two hosts, an owner without rows."""
    return EncryptedModelSettings(
        HOSTS,
        ARBITER,
        AGGREGATOR,
        OWNER,
        classes=("0", "1"),
        protection=protection,  # type: ignore[arg-type]
        key_bits=KEY_BITS,
        allow_two_parties=True,
        training=training,
    )


def split_rows(features: FloatArray, labels: npt.NDArray[np.int64], order: Any) -> dict[str, Table]:
    """Every host's part of the rows `order`, as equal as can be."""
    names = tuple(f"x{number}" for number in range(features.shape[1]))
    parts = np.array_split(order, len(HOSTS))
    return {host: Table(features[rows], labels[rows], names, host) for host, rows in zip(HOSTS, parts, strict=True)}


def train(settings: EncryptedModelSettings, tables: Mapping[str, Table]) -> TrainedModel:
    """All roles of one training, with a key that is there before; a round ends when the last role has ended it."""
    trained = TrainedModel()
    keys = {name: PartyKey.generate() for name in settings.everyone}
    digest = hashlib.sha256(repr(settings).encode()).digest()
    sessions = make_sessions(keys, run_id="benchmark", protocol=PROTOCOL, job_digest=digest)
    key_pair = stored_keys(settings.key_bits)[0] if settings.protection == "paillier" else None

    def on_round(record: RoundRecord) -> None:
        sent = sum(session.sent_bytes for session in sessions.values())
        trained.rounds[record.round_number] = (time.perf_counter(), time.process_time(), sent)

    def play(channel: Channel) -> OwnedModel | None:
        name = channel.party

        def role(recorded: RecordedChannel) -> OwnedModel | None:
            given = key_pair if name == settings.arbiter else None
            run = EncryptedModelRun(sessions[name].stopwatch, on_round=on_round, key_pair=given)
            return run_role(recorded, tables.get(name), settings, run)

        return sessions[name].play(channel, role)

    trained.began = (time.perf_counter(), time.process_time())
    results = play_in_process(dict.fromkeys(settings.everyone, play), timeout_s=TIMEOUT_S)
    trained.ended = (time.perf_counter(), time.process_time())
    trained.model = results[settings.owner]
    trained.sent_bytes = sum(session.sent_bytes for session in sessions.values())
    for session in sessions.values():
        for step, seconds in session.stopwatch.seconds.items():
            trained.steps_s[step] = trained.steps_s.get(step, 0.0) + seconds
    return trained


def train_in_steps(tables: Mapping[str, Table], training: EncryptedTraining) -> tuple[FloatArray, float]:
    """Weights and intercept of standardised columns after the same steps in NumPy, and seconds of an epoch of them."""
    features = [np.asarray(table.features, np.float64) for table in tables.values()]
    joined = np.concatenate(features)
    mean, spread = joined.mean(axis=0), joined.std(axis=0)
    rows = [np.column_stack([(part - mean) / spread, np.ones(len(part))]) for part in features]
    targets = [np.where(np.asarray(table.labels) == 1, 1.0, -1.0) for table in tables.values()]
    shares = [len(part) / len(joined) for part in rows]
    w, u = np.zeros(rows[0].shape[1]), np.zeros(rows[0].shape[1])
    start = time.perf_counter()
    for _ in range(training.rounds):
        ends = [_steps(part, y, w, u, training) for part, y in zip(rows, targets, strict=True)]
        w, u = (sum(share * end[which] for share, end in zip(shares, ends, strict=True)) for which in (0, 1))  # type: ignore[assignment]
    return w, (time.perf_counter() - start) / training.rounds


def _steps(
    rows: FloatArray, targets: FloatArray, w: FloatArray, u: FloatArray, training: EncryptedTraining
) -> tuple[FloatArray, FloatArray]:
    for batch in draw_batches(len(rows), training.batch_rows, training.seed):
        x = rows[batch]
        gradient = x.T @ (0.25 * (x @ w) - 0.5 * targets[batch]) / len(batch)
        gradient[:-1] += training.l2 * w[:-1]
        u = training.momentum * u + training.learning_rate * gradient
        w = w - u
    return w, u


def check_weights(run: TrainedModel, plain: FloatArray) -> float:
    """The largest difference of weights on standardised columns. Raises AssertionError where it is too large."""
    model = run.model
    assert model is not None
    weights = np.append(model.weights[:, 0] * model.spreads, model.intercept[0] + model.means @ model.weights[:, 0])
    error = float(np.abs(weights - plain).max())
    assert error <= WEIGHT_TOLERANCE, f"a weight is {error:.3g} from the plain one, allowed {WEIGHT_TOLERANCE:.3g}"
    return error


def _ratio(runs: Sequence[TrainedModel], others: Sequence[TrainedModel], name: str) -> float:
    return statistics.median(getattr(one, name) / getattr(other, name) for one, other in zip(runs, others, strict=True))
