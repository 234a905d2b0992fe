"""Boosted trees across rows, whole runs with all roles on this machine: masked beside the same in the clear.

5 parties, 100,000 rows x 30 columns, 64 bins, depth 6. Runs take turns and all end with the same trees; trees of
gradients that are hardly rounded are held against the plain booster's, node by node. The seconds of a tree are the
median over a run's trees but the first. Roles compute one after the other, six in all: on machines of their own they
compute at once. Bytes are what all roles send, a tree.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hekat.channel import Channel, PartyKey
from hekat.data import Table
from hekat.ledger import RecordedChannel
from hekat.model.trees import TreeTraining, bin_rows, make_objective, train_plain
from hekat.protocol.horizontal_trees.aggregator import AggregatorRun, run_aggregator
from hekat.protocol.horizontal_trees.party import PartyRun, run_party
from hekat.protocol.horizontal_trees.settings import HorizontalTreesSettings
from hekat.protocol.horizontal_trees.state import TreesState, digest_trees
from hekat.protocol.horizontal_trees.training import IterationRecord, LocalRun
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.secure_sum.masked.upload_state import open_upload_state
from hekat.protocol.secure_sum.settings import Protection
from trees.columns import LIGHTGBM_TREES, judge
from trees.data import time_lightgbm
from trees.run import add_steps, mean_steps, read_stopwatches
from trees.same_trees import DifferentTreesError, check_nodes

SEED = 7
ROWS, COLUMNS, PARTIES = 100_000, 30, 5
TURNS = 5
TRAINING = TreeTraining(max_iter=6, max_depth=6, max_bins=64)
# Gradients of 16 bits, for which sums of 20,000 rows have room: rounding chooses no split, and a node whose rows are
# all alike is not divided.
FINE = TreeTraining(max_iter=2, max_depth=6, max_bins=64, gradient_bits=16, rounding="nearest", min_gain=0.01)
TO_REACH_TIMES_CLEAR = 1.15
TIMEOUT_S = 1800.0
AGGREGATOR = "aggregator"
# Leaves are summed as integers of 32 bits.
LEAF_TOLERANCE = {"rtol": 1e-6, "atol": 1e-8}


@dataclass(frozen=True)
class Trained:
    """One run: median wall and processor seconds of a tree, mean seconds by role and step, megabytes, the model."""

    tree_s: float
    cpu_s: float
    steps_s: Mapping[str, Mapping[str, float]]
    parties_mb: float
    aggregator_mb: float
    state: TreesState


def measure_rows(
    say: Callable[[str], None], row_count: int = ROWS, turns: int = TURNS, training: TreeTraining = TRAINING
) -> list[dict[str, Any]]:
    """The rows of results: in the clear, and masked."""
    tables = draw_tables(row_count)
    check_against_plain(tables)
    say(f"{row_count:,} rows of {PARTIES} parties: trees of fine gradients are the plain ones, node by node")
    features, labels = pooled(tables)
    runs: dict[Protection, list[Trained]] = {"none": [], "lattice": []}
    lightgbm = []
    for turn in range(turns):
        for protection, trained in runs.items():
            trained.append(train(tables, protection, training))
        lightgbm.append(time_lightgbm(features, labels, training, LIGHTGBM_TREES))
        times = ", ".join(f"{protection} {trained[-1].tree_s:.2f} s" for protection, trained in runs.items())
        say(f"{row_count:,} rows of {PARTIES} parties: turn {turn + 1} of {turns}, a tree {times}")
    if len({digest_trees(one.state, b"") for trained in runs.values() for one in trained}) != 1:
        raise DifferentTreesError("trees differ between runs of the same rows")
    rows = []
    for protection, trained in runs.items():
        seconds = sorted(one.tree_s for one in trained)
        tree_s = statistics.median(seconds)
        ratios = [one.tree_s / clear.tree_s for one, clear in zip(trained, runs["none"], strict=True)]
        cpu_ratios = [one.cpu_s / clear.cpu_s for one, clear in zip(trained, runs["none"], strict=True)]
        middle = min(trained, key=lambda one: abs(one.tree_s - tree_s))
        working_s = {name: sum(steps.values()) for name, steps in middle.steps_s.items()}
        row = {
            "what": f"{PARTIES} parties, {row_count:,} x {COLUMNS}",
            "rows": row_count,
            "bins": training.max_bins,
            "protection": protection,
            "trees": training.max_iter,
            "turns": turns,
            "tree_s": tree_s,
            "least_s": seconds[0],
            "most_s": seconds[-1],
            "cpu_s": statistics.median(one.cpu_s for one in trained),
            "times_clear": statistics.median(ratios),
            "times_clear_cpu": statistics.median(cpu_ratios),
            "lightgbm_s": statistics.median(one.tree_s for one in lightgbm),
            "lightgbm_cpu_s": statistics.median(one.cpu_s for one in lightgbm),
            "mb": trained[0].parties_mb + trained[0].aggregator_mb,
            "parties_mb": trained[0].parties_mb,
            "aggregator_mb": trained[0].aggregator_mb,
            "loss": trained[0].state.losses[-1],
            "aggregator_s": working_s.pop(AGGREGATOR),
            "party_s": max(working_s.values()),
            "steps_s": add_steps(middle.steps_s.values()),
        }
        masked = protection != "none"
        rows.append(judge(row, {"times_clear": TO_REACH_TIMES_CLEAR} if masked else {}, {}))
    return rows


def check_against_plain(tables: Mapping[str, Table]) -> None:
    """Raise DifferentTreesError unless all rows in one table grow the trees that the parties do."""
    state = train(tables, "none", FINE).state
    features, labels = pooled(tables)
    plain = train_plain(bin_rows(features, state.bins), labels, make_objective(2), FINE)
    if len(state.trees) != len(plain.ensemble.trees):
        raise DifferentTreesError("another number of trees than the plain booster's")
    for number, ((own,), (tree,)) in enumerate(zip(state.trees, plain.ensemble.trees, strict=True)):
        check_nodes(own, tree, ("column", "left", "right", "count", "left_bins"), f"tree {number} across rows")
        if not np.allclose(own.value, tree.value, **LEAF_TOLERANCE):
            raise DifferentTreesError(f"leaves of tree {number} across rows")


def pooled(tables: Mapping[str, Table]) -> tuple[Any, Any]:
    """Features and labels of all rows, one party's after the other's."""
    every = list(tables.values())
    return np.concatenate([one.features for one in every]), np.concatenate([one.labels for one in every])


def draw_tables(row_count: int = ROWS) -> dict[str, Table]:
    """Rows of two classes, dealt to the parties in turn."""
    rng = np.random.default_rng(SEED)
    features = rng.normal(size=(row_count, COLUMNS))
    weights = rng.normal(size=COLUMNS) * (rng.random(COLUMNS) < 0.4)
    labels = (features @ weights + np.sin(3 * features[:, 0]) + rng.normal(size=row_count) > 0).astype(np.int64)
    names = tuple(f"column {number}" for number in range(COLUMNS))
    return {
        f"party-{number}": Table(features[number::PARTIES], labels[number::PARTIES], names, f"party-{number}")
        for number in range(PARTIES)
    }


def train(tables: Mapping[str, Table], protection: Protection, training: TreeTraining) -> Trained:
    """All roles of one run; a tree ends when the first party has it."""
    least_rows = min(len(table) for table in tables.values())
    settings = HorizontalTreesSettings(
        tuple(tables), AGGREGATOR, ("no", "yes"), least_rows, protection=protection, training=training
    )
    keys = {name: PartyKey.generate() for name in settings.everyone}
    sessions = make_sessions(keys, run_id="benchmark", protocol="horizontal_trees", job_digest=bytes(32))
    ends: list[tuple[float, float]] = []
    steps: list[dict[str, dict[str, float]]] = []
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        states = {}
        if protection == "lattice":
            for name in settings.parties:
                states[name] = open_upload_state(place / name, bytes(32), durable=False, with_run=True)
                stack.enter_context(states[name].uploads)

        def play(channel: Channel) -> TreesState | None:
            session = sessions[channel.party]

            def note(record: IterationRecord, state: TreesState) -> None:
                if channel.party == settings.leader:
                    ends.append((time.perf_counter(), time.process_time()))
                    steps.append(read_stopwatches(sessions))

            def role(recorded: RecordedChannel) -> TreesState | None:
                if recorded.party == settings.aggregator:
                    run_aggregator(recorded, settings, AggregatorRun(session.stopwatch))
                    return None
                local = LocalRun(session.stopwatch, note)
                run = PartyRun(local, upload_state=states.get(recorded.party))
                return run_party(recorded, tables[recorded.party], settings, run)

            return session.play(channel, role)

        results = play_in_process(dict.fromkeys(settings.everyone, play), timeout_s=TIMEOUT_S)
    state = results[settings.leader]
    assert state is not None
    seconds, cpu_seconds = np.median(np.diff(np.array(ends), axis=0), axis=0)
    of_roles = {name: mean_steps(steps[0][name], last, len(steps) - 1) for name, last in steps[-1].items()}
    sent = {name: session.sent_bytes / 1e6 / training.max_iter for name, session in sessions.items()}
    from_aggregator = sent.pop(AGGREGATOR)
    return Trained(float(seconds), float(cpu_seconds), of_roles, sum(sent.values()), from_aggregator, state)
