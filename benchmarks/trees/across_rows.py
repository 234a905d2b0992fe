"""Boosted trees across rows, whole runs with all roles on this machine: masked beside the same in the clear.

5 parties, 100,000 rows x 30 columns, 64 bins, depth 6. Runs take turns, all of them end with the same trees, and the
seconds of a tree are the median over a run's trees but the first. Roles compute one after the other, six in all: on
machines of their own they compute at once. Bytes are what all roles send, a tree.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hekat.channel import Channel, PartyKey
from hekat.data import Table
from hekat.ledger import RecordedChannel
from hekat.model.trees import TreeTraining
from hekat.protocol.horizontal_trees.aggregator import AggregatorRun, run_aggregator
from hekat.protocol.horizontal_trees.party import PartyRun, run_party
from hekat.protocol.horizontal_trees.settings import HorizontalTreesSettings
from hekat.protocol.horizontal_trees.state import TreesState, digest_trees
from hekat.protocol.horizontal_trees.training import IterationRecord, LocalRun
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.secure_sum.masked.upload_state import open_upload_state
from hekat.protocol.secure_sum.settings import Protection
from measuring.record import machine, print_rows, write_results

SEED = 7
ROWS, COLUMNS, PARTIES = 100_000, 30, 5
TREES, TURNS = 6, 3
TRAINING = TreeTraining(max_iter=TREES, max_depth=6, max_bins=64)
TO_REACH_TIMES_CLEAR = 1.15
TIMEOUT_S = 1800.0


@dataclass(frozen=True)
class Trained:
    """One run: the median seconds and CPU seconds of a tree, its megabytes, a digest of all trees, the last loss."""

    tree_s: float
    tree_cpu_s: float
    tree_mb: float
    digest: bytes
    loss: float
    seconds_by_step: dict[str, float]


def main() -> None:
    """Measure, print, and keep where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/trees_rows.json")
    asked = parser.parse_args()
    tables = draw_tables()
    runs: dict[str, list[Trained]] = {"none": [], "lattice": []}
    for _ in range(TURNS):
        for protection, trained in runs.items():
            trained.append(train(tables, protection))  # type: ignore[arg-type]
    assert len({one.digest for trained in runs.values() for one in trained}) == 1, "trees differ between runs"
    clear_s = statistics.median(one.tree_s for one in runs["none"])
    rows: list[dict[str, Any]] = []
    for protection, trained in runs.items():
        tree_s = statistics.median(one.tree_s for one in trained)
        rows.append(
            {
                "what": f"{PARTIES} parties, {ROWS:,} x {COLUMNS}, depth 6, 64 bins",
                "protection": protection,
                "tree_s": tree_s,
                "tree_cpu_s": statistics.median(one.tree_cpu_s for one in trained),
                "times_clear": tree_s / clear_s,
                "to_reach_times_clear": TO_REACH_TIMES_CLEAR,
                "mb": trained[0].tree_mb,
                "loss": trained[0].loss,
                "steps_s": trained[0].seconds_by_step,
            }
        )
    print_rows(rows)
    print(machine())
    if asked.keep:
        print(write_results("trees_rows", rows, seed=SEED))


def draw_tables() -> dict[str, Table]:
    """Rows of two classes, dealt to the parties in turn."""
    rng = np.random.default_rng(SEED)
    features = rng.normal(size=(ROWS, COLUMNS))
    weights = rng.normal(size=COLUMNS) * (rng.random(COLUMNS) < 0.4)
    labels = (features @ weights + np.sin(3 * features[:, 0]) + rng.normal(size=ROWS) > 0).astype(np.int64)
    names = tuple(f"column {number}" for number in range(COLUMNS))
    return {
        f"party-{number}": Table(features[number::PARTIES], labels[number::PARTIES], names, f"party-{number}")
        for number in range(PARTIES)
    }


def train(tables: dict[str, Table], protection: Protection) -> Trained:
    """All roles of one run; a tree ends when the first party has it."""
    settings = HorizontalTreesSettings(
        tuple(tables), "aggregator", ("no", "yes"), ROWS // PARTIES, protection=protection, training=TRAINING
    )
    keys = {name: PartyKey.generate() for name in settings.everyone}
    sessions = make_sessions(keys, run_id="benchmark", protocol="horizontal_trees", job_digest=bytes(32))
    ends: list[tuple[float, float]] = []
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
    steps: dict[str, float] = {}
    for session in sessions.values():
        for step, used in session.stopwatch.seconds.items():
            steps[step] = steps.get(step, 0.0) + used / TREES
    sent = sum(session.sent_bytes for session in sessions.values())
    digest = digest_trees(state, b"")
    return Trained(float(seconds), float(cpu_seconds), sent / 1e6 / TREES, digest, state.losses[-1], steps)


if __name__ == "__main__":
    main()
