"""What a tree across columns takes: encrypted, the same protocol in the clear, and LightGBM, in turns."""

from __future__ import annotations

import resource
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from hekat.model.trees import TreeTraining, bin_table
from hekat.protocol.vertical_trees.timing_labels import PARTS
from trees.data import Took, draw_columns, time_lightgbm
from trees.run import TrainedTrees, score, train
from trees.same_trees import check_trees, train_joined

SEED = 7
DEPTH = 6
KEY_BITS = 2048
MEGABYTE = 1e6
GIB_OF_KIB = 2**20
ROWS = 30_000
MOST_TIMES_CLEAR = 5.0
KNOWN_TREE = "13 s and 124 s in two systems at 30,000 x 23; Squirrel under 6 s at 50,000 rows"
KNOWN_TIMES = "FLASH, Table 1: SecureBoost 3.49 times, other models 12 to 61 times"
LIGHTGBM_TREES = 20
LONG_S = 5.0

Say = Callable[[str], None]


@dataclass(frozen=True)
class Work:
    """One measured training. `column_counts` are the guest's and each host's; the first tree of a run is not counted.

    `to_reach` has the most that a figure of the row may be, by the figure's name.
    """

    column_counts: tuple[int, ...]
    bins: int = 32
    protection: str = "lattice"
    row_count: int = ROWS
    hide_partition: bool = False
    trees: int = 4
    turns: int = 3
    to_reach: Mapping[str, float] = field(default_factory=dict)

    @property
    def training(self) -> TreeTraining:
        return TreeTraining(max_iter=self.trees, max_bins=self.bins, max_depth=DEPTH)


TREES = (
    Work((13, 10), to_reach={"tree_s": 1.5, "mb": 150.0}),
    Work((13, 23), to_reach={"tree_s": 1.5, "mb": 150.0}),
    Work((13, 23), bins=64, to_reach={"tree_s": 2.5}),
    Work((13, 23, 23, 23, 23, 23), to_reach={"tree_s": 3.0}),
    Work((13, 23), protection="paillier", to_reach={"tree_s": 4.0}),
    Work((13, 23), hide_partition=True),
)
LARGE = Work((20, 20), row_count=1_000_000, trees=2, turns=1, to_reach={"tree_s": 90.0, "peak_gib": 6.0})
# FLASH's shape: one column at the party with the labels, 80 at the other.
PAPERS = (
    Work((1, 80), row_count=100_000, trees=3),
    Work((1, 80), row_count=100_000, protection="paillier", trees=2, turns=1),
)


def measure(part: str, work: Work, say: Say) -> dict[str, Any]:
    """A row of results. A run's figure is the median over its trees but the first, the row's the median over turns.

    Encrypted trees are checked against the plain booster's, node by node, and then those in the clear. Memory is the
    process's peak up to the end of the first encrypted run: it is of that run where nothing larger went before.
    """
    columns, training = draw_columns(work.row_count, work.column_counts, SEED), work.training
    settings = replace(columns.settings(training, work.protection, KEY_BITS), hide_partition=work.hide_partition)
    row: dict[str, Any] = {
        "part": part,
        "what": columns.what,
        "rows": work.row_count,
        "columns": list(work.column_counts),
        "bins": work.bins,
        "protection": work.protection,
        "key_bits": KEY_BITS if work.protection == "paillier" else None,
        "hide_partition": work.hide_partition,
        "trees": work.trees,
        "turns": work.turns,
    }
    encrypted, clear, lightgbm, peak_gib = [], [], [], 0.0
    for turn in range(work.turns):
        encrypted.append(train(settings, columns.tables(), partial(_tell, say, f"{describe_row(row)}, encrypted")))
        peak_gib = peak_gib or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / GIB_OF_KIB
        in_clear = replace(settings, protection="none")
        clear.append(train(in_clear, columns.tables(), partial(_tell, say, f"{describe_row(row)}, in the clear")))
        lightgbm.append(time_lightgbm(columns.joined, columns.labels, training, LIGHTGBM_TREES))
        say(
            f"{describe_row(row)}: turn {turn + 1} of {work.turns}, {encrypted[-1].tree_s:.2f} s a tree, in the clear "
            f"{clear[-1].tree_s:.2f} s, LightGBM {lightgbm[-1].tree_s:.2f} s"
        )
    plain = train_joined(columns, training)
    for run in (encrypted[0], clear[0]):
        check_trees(run.parts, columns, plain)
    row |= figures(settings.guest, encrypted, clear, lightgbm)
    if part == "large":
        row["peak_gib"] = peak_gib
    is_known_shape = part == "tree" and work.bins == 32 and len(work.column_counts) == 2
    known = {"times_clear": KNOWN_TIMES} | ({"tree_s": KNOWN_TREE} if is_known_shape else {})
    return judge(row, {**work.to_reach, "times_clear": MOST_TIMES_CLEAR}, known)


def figures(
    guest: str, encrypted: Sequence[TrainedTrees], clear: Sequence[TrainedTrees], lightgbm: Sequence[Took]
) -> dict[str, Any]:
    """Medians over turns with the least and the most, bytes by direction, and the parts of the turn in the middle."""
    seconds = sorted(run.tree_s for run in encrypted)
    tree_s = statistics.median(seconds)
    middle = min(encrypted, key=lambda run: abs(run.tree_s - tree_s))
    middle_clear = min(clear, key=lambda run: abs(run.tree_s - statistics.median(one.tree_s for one in clear)))
    sent = encrypted[0].sent_bytes
    in_all = sum(sent.values())
    return {
        "tree_s": tree_s,
        "least_s": seconds[0],
        "most_s": seconds[-1],
        "cpu_s": statistics.median(run.cpu_s for run in encrypted),
        "clear_s": middle_clear.tree_s,
        "clear_cpu_s": statistics.median(run.cpu_s for run in clear),
        "times_clear": statistics.median(
            one.tree_s / other.tree_s for one, other in zip(encrypted, clear, strict=True)
        ),
        "lightgbm_s": statistics.median(one.tree_s for one in lightgbm),
        "lightgbm_cpu_s": statistics.median(one.cpu_s for one in lightgbm),
        "mb": in_all / MEGABYTE / encrypted[0].trees,
        "guest_mb": sent[guest] / MEGABYTE / encrypted[0].trees,
        "hosts_mb": (in_all - sent[guest]) / MEGABYTE / encrypted[0].trees,
        "guest_s": middle.working_s[guest],
        "host_s": max(seconds for name, seconds in middle.working_s.items() if name != guest),
        "parts_s": parts_of(middle),
        "steps_s": middle.steps_s,
        "clear_parts_s": parts_of(middle_clear),
        "clear_steps_s": middle_clear.steps_s,
    }


def parts_of(run: TrainedTrees) -> dict[str, float]:
    """A tree's seconds by part, all roles together; the rest is what no role measures, messages' way among it."""
    found = dict.fromkeys([*dict.fromkeys(PARTS.values()), "sealing"], 0.0)
    for step, seconds in run.steps_s.items():
        found[PARTS.get(step, "sealing")] += seconds
    return found | {"rest": max(0.0, run.tree_s - sum(found.values()))}


def judge(row: dict[str, Any], to_reach: Mapping[str, float], known: Mapping[str, str]) -> dict[str, Any]:
    """The row with its aims, which of them it meets, and what others report, each by the name of a figure."""
    met = {name: bool(row[name] <= most) for name, most in to_reach.items()}
    return row | {"known_elsewhere": dict(known), "to_reach": dict(to_reach), "met": met}


def measure_prediction(say: Say, row_count: int = 100_000, trees: int = 100, turns: int = 3) -> dict[str, Any]:
    """All parties predict together; how the trees were protected while they grew makes no difference to that."""
    columns = draw_columns(row_count, (13, 23), SEED)
    training = TreeTraining(max_iter=trees, max_bins=32, max_depth=DEPTH)
    settings = columns.settings(training, "none")
    trained = train(settings, columns.tables())
    say(f"{columns.what}: {trees} trees are there to predict from")
    plain = train_joined(columns, training)
    check_trees(trained.parts, columns, plain)
    exact = plain.ensemble.raw_scores(bin_table(columns.joined, training.max_bins))[0]
    runs = []
    for turn in range(turns):
        runs.append(score(settings, trained.parts, columns.tables()))
        if not np.array_equal(runs[-1].scores[:, 0], exact):
            raise AssertionError("a joint prediction differs from the plain booster's")
        say(f"{columns.what}: turn {turn + 1} of {turns}, {runs[-1].seconds:.2f} s for {trees} trees")
    seconds = sorted(run.seconds for run in runs)
    row = {
        "part": "prediction",
        "what": columns.what,
        "rows": row_count,
        "trees": trees,
        "turns": turns,
        "seconds": statistics.median(seconds),
        "least_s": seconds[0],
        "most_s": seconds[-1],
        "cpu_s": statistics.median(run.cpu_s for run in runs),
        "mb": runs[0].sent_bytes / MEGABYTE,
    }
    return judge(row, {"seconds": 20.0}, {})


def _tell(say: Say, what: str, number: int, seconds: float) -> None:
    """A line for each tree, where one takes so long that somebody might wonder."""
    if seconds > LONG_S:
        say(f"{what}: tree {number}, {seconds:.1f} s")


def describe_row(row: Mapping[str, Any]) -> str:
    """What a row of results is of, in a line."""
    protection = f"{row['protection']} {row['key_bits']}" if row["key_bits"] else row["protection"]
    hidden = ", hide_partition" if row["hide_partition"] else ""
    return f"{row['what']}, {row['bins']} bins, {protection}{hidden}"
