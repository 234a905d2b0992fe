"""The training loop of one party: bins and start from sums, then one iteration of trees after the other.

1. agree on bins, and on the scores that training begins with; of a regression also on the largest gradient (once)
2. each iteration: gradients of own rows, rounded; histograms of each level summed, the same splits chosen everywhere;
   gradients by leaf summed, with losses of the model before; the same trees everywhere
3. report the digest of the model, and whether training ends
4. after the last iteration sum the losses of the final model, and compare it party by party
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from hekat.codec.clip import FloatArray
from hekat.data import Table, hold_out_rows
from hekat.data.features import is_dense
from hekat.errors import InputError
from hekat.ledger.privacy.records import PrivacyRecord
from hekat.model.trees import (
    GradientLevels,
    IterationLoss,
    NodeId,
    Objective,
    Tree,
    bin_rows,
    check_row_count,
    grow_trees,
    make_objective,
    round_gradients,
    sample_columns,
    should_stop,
)
from hekat.model.trees.column_bins import Digits
from hekat.model.trees.node import BoolArray
from hekat.model.trees.rounding import IntArray
from hekat.privacy.accounting import Release
from hekat.protocol.horizontal_trees.binning.agree_on_bins import AgreedBins, agree_on_bins
from hekat.protocol.horizontal_trees.leaf_sums import leaf_counters, read_leaves
from hekat.protocol.horizontal_trees.measures import (
    FIRST_BOUNDS,
    HELD_OUT,
    LATER_BOUNDS,
    TRAINING,
    label_counters,
    label_sums,
    loss_counters,
    loss_of,
    reach_counters,
    read_losses,
    read_reach,
    read_scores,
    score_counters,
)
from hekat.protocol.horizontal_trees.settings import HorizontalTreesSettings
from hekat.protocol.horizontal_trees.state import TreesState, digest_trees, encode_totals, padded_counts
from hekat.protocol.horizontal_trees.summed_histograms import RowsOfParty, SummedHistograms
from hekat.protocol.horizontal_trees.sums_ahead import FINAL_STEP, LABELS_STEP, RESIDUALS_STEP, leaves_step
from hekat.protocol.secure_sum.aggregation import Aggregation, Counter, sum_counters
from hekat.protocol.secure_sum.agreement.final_model import ModelTrail
from hekat.protocol.stopwatch import Stopwatch
from hekat.state.privacy_budget import Spent

COUNTER_BITS = 32
"""Of a slot of sums that have counters alone."""
FLAG_BITS = 8
_ROWS, _ROUNDING = range(2)


@dataclass(frozen=True)
class IterationCost:
    """What the releases of a job so far tell of a row at the most, with differential privacy: `epsilon` against the
    claim's coalition, `epsilon_at_one` against one party. `spent` is what all jobs have cost the party's rows, None
    where no budget counts them."""

    releases: int
    epsilon: float
    epsilon_at_one: float
    spent: Spent | None = None


@dataclass(frozen=True)
class IterationRecord:
    """What one party knows of one finished iteration: aggregates only.

    `loss` and `held_out` are of the model before the iteration; None and empty where no loss is summed.
    `party_count`: whose rows its sums hold.
    """

    iteration: int
    loss: float | None
    held_out: dict[str, float]
    leaf_count: int
    party_count: int
    cost: IterationCost | None = None


@dataclass(frozen=True)
class LocalRun:
    """What training needs besides settings and rows; the callbacks never see another party's values.

    `note` is told, by step, what each sum tells. `resume_from` goes on after the iterations that it holds.
    `on_compared` gets the parties with which the final model could not be compared. `charge` reserves an iteration of a
    job with differential privacy in this site's budget, before its sum leaves; what the data set has spent then, None
    without a budget. It raises BudgetError.
    """

    stopwatch: Stopwatch
    on_iteration: Callable[[IterationRecord, TreesState], None] = lambda record, state: None
    save: Callable[[TreesState], None] = lambda state: None
    resume_from: TreesState | None = None
    on_compared: Callable[[tuple[str, ...]], None] = lambda missing: None
    charge: Callable[[int, Release], Spent | None] = lambda number, release: None
    record: Callable[[PrivacyRecord, str], None] = lambda record, step: None
    digest_key: bytes = field(default=b"", repr=False)
    note: Callable[[str, str], None] = lambda step, what: None


def train(
    aggregation: Aggregation, table: Table, settings: HorizontalTreesSettings, run: LocalRun, *, party: str
) -> TreesState:
    """Train to the last iteration or until nothing improves; returns the state that every party ends with.

    Raises InputError for rows that trees cannot learn from.
    """
    check_rows(table, settings)
    trainer = _Trainer(aggregation, table, settings, run, party)
    trainer.play_iterations()
    trainer.measure_at_end()
    trainer.compare_at_end()
    return trainer.state


def check_rows(table: Table, settings: HorizontalTreesSettings) -> None:
    """Raise InputError for sparse rows, infinite values, no column, no labels, too few rows to hold some out, and
    columns of 0 and 1 with another value."""
    if not is_dense(table.features):
        raise InputError(
            f"{table.name} has sparse rows",
            expected="dense rows: trees look at every cell",
            got="a sparse table",
            cure="load the rows dense (sparse = false)",
        )
    if table.features.shape[1] == 0:
        raise InputError(f"{table.name} has no column", expected="one or more", got="none")
    if np.isinf(table.features).any():
        raise InputError(
            f"{table.name} has a value that is infinite",
            expected="finite numbers, or NaN for missing ones",
            got="infinity",
            cure="replace such values, or leave the cells empty",
        )
    places = list(table.indicator_places)
    if not np.isin(table.features[:, places], (0.0, 1.0)).all():
        raise InputError(
            f"{table.name} has another value in a column of 0 and 1",
            expected="0 or 1 in every row of the columns that the job makes of categories",
            got="another value, or none",
            cure="load the table by the job's description of columns",
        )
    if table.labels is None:
        raise InputError(
            f"{table.name} has no labels",
            expected="a label for every row",
            got="a table without labels",
            cure="name the label column in the party's site file",
        )
    make_objective(settings.class_count).check_labels(table.labels)
    split_rows(table, settings)


def split_rows(table: Table, settings: HorizontalTreesSettings) -> tuple[Table, Table | None]:
    """(rows to train on, rows held out or None), by the seed of training."""
    if not settings.held_out_fraction:
        return table, None
    return hold_out_rows(table, settings.held_out_fraction, settings.training.seed)


class _Rows:
    """Rows of this party in bins, with their labels and the scores of the model so far, (trees, rows)."""

    def __init__(self, table: Table, state: TreesState) -> None:
        assert table.labels is not None  # checked before
        binned = bin_rows(np.asarray(table.features, dtype=np.float64), state.bins)
        self.digits: Digits = binned.digits
        self.labels = table.labels
        self.scores: FloatArray = state.ensemble.raw_scores(binned)

    def add(self, trees: Sequence[Tree]) -> None:
        """Move the scores by the trees of an iteration."""
        for scores, tree in zip(self.scores, trees, strict=True):
            scores += tree.value[tree.leaf_of_digits(self.digits)]


class _Trainer:
    """One party's loop: its constant parts, and the state that changes."""

    def __init__(
        self, aggregation: Aggregation, table: Table, settings: HorizontalTreesSettings, run: LocalRun, party: str
    ) -> None:
        self._aggregation, self._settings, self._run = aggregation, settings, run
        self._party_number = settings.parties.index(party)
        self._objective: Objective = make_objective(settings.class_count)
        self._trail = ModelTrail(run.digest_key)
        training, held_out = split_rows(table, settings)
        self.state = run.resume_from or self._first_state(training)
        check_row_count(self.state.row_count, settings.training)
        with run.stopwatch.measure("bin"):
            self._rows = _Rows(training, self.state)
            self._held_out = None if held_out is None else _Rows(held_out, self.state)
        counts = padded_counts(self.state)
        self._of_party = RowsOfParty(self._rows.digits, np.array([c.bin_count for c in self.state.bins]), counts)
        self._can_split: BoolArray = (counts > 0).sum(axis=1) > 1
        if not self._can_split.any():
            raise InputError(
                "no column can split the rows",
                expected="a column with two values or more over all parties",
                got="constant columns alone",
                cure="give the parties other columns",
            )

    def _first_state(self, table: Table) -> TreesState:
        settings = self._settings
        assert table.labels is not None
        agreed = agree_on_bins(
            self._aggregation,
            np.asarray(table.features, dtype=np.float64),
            max_bins=settings.training.max_bins,
            weight_max=settings.weight_max,
            indicators=table.indicator_places,
            digest_key=self._run.digest_key,
            note=self._run.note,
        )
        start = self._agree_on_start(table, agreed)
        reach = self._agree_on_reach(table, start)
        return TreesState(agreed.columns, agreed.counts, agreed.row_count, start, reach)

    def _agree_on_start(self, table: Table, agreed: AgreedBins) -> FloatArray:
        settings = self._settings
        assert table.labels is not None
        counters = label_counters(table.labels, settings.class_count, settings.weight_max)
        sums = sum_counters(self._aggregation, LABELS_STEP, counters, value_bits=COUNTER_BITS)
        self._run.note(LABELS_STEP, "rows of all parties by class" if settings.classes else "the sum of all labels")
        totals = label_sums(sums, settings.class_count, agreed.row_count, LABELS_STEP)
        return self._objective.start_scores(totals, agreed.row_count)

    def _agree_on_reach(self, table: Table, start: FloatArray) -> FloatArray:
        """What bounds every row's gradient before the first tree: known for classes, summed for a regression."""
        if not self._objective.has_constant_hessian:
            return np.ones(start.size)
        assert table.labels is not None
        gradients, _ = self._objective.gradients(np.tile(start[:, None], len(table)), table.labels)
        # Labels are 2^30 at most, so that their mean is too.
        most = np.full(start.size, 2.0**31)
        counters = reach_counters(gradients, most, FIRST_BOUNDS)
        sums = sum_counters(self._aggregation, RESIDUALS_STEP, counters, value_bits=FLAG_BITS)
        self._run.note(RESIDUALS_STEP, _told_of_reach(FIRST_BOUNDS))
        return read_reach(sums, most, FIRST_BOUNDS)

    def play_iterations(self) -> None:
        """Iterations up to the last one, or until nothing improves."""
        while self.state.iterations_done < self._settings.training.max_iter and not self.state.finished:
            self._play_iteration()

    def _play_iteration(self) -> None:
        settings, state, run = self._settings, self.state, self._run
        iteration = state.iterations_done + 1
        sums: dict[str, int] = {}
        with run.stopwatch.measure("gradients"):
            derivatives = self._objective.gradients(self._rows.scores, self._rows.labels)
            largest = self._largest()
            levels = self._round(derivatives, largest, iteration)
            rows = self._draw_rows(iteration)

        def sum_leaf_rows(step: str, leaves: Sequence[NodeId], rows_of: Sequence[IntArray]) -> FloatArray:
            counters = leaf_counters(leaves, rows_of, derivatives, largest, settings.weight_max)
            counters += self._losses()
            told = (
                f"gradients, rows of {source.whose} in {len(leaves)} leaves; the losses of the model before{self._too}"
            )
            if self._objective.has_constant_hessian:
                counters += reach_counters(derivatives[0], state.reach, LATER_BOUNDS)
                told += f"; {_told_of_reach(LATER_BOUNDS)}"
            found = sum_counters(self._aggregation, step, counters, value_bits=COUNTER_BITS, recodes=True)
            sums.update(found)
            run.note(step, told)
            return read_leaves(sums, leaves, largest)

        source = SummedHistograms(
            self._aggregation,
            self._of_party,
            rows,
            levels,
            settings.training,
            self._columns(iteration),
            iteration=iteration,
            party_total=len(settings.parties),
            weight_max=settings.weight_max,
            digest_key=run.digest_key,
            stopwatch=run.stopwatch,
            sum_leaf_rows=sum_leaf_rows,
            note=run.note,
        )
        trees = tuple(grow_trees(source, settings.training, settings.tree_count))
        self._finish_iteration(iteration, trees, sums, source.party_count)

    def _finish_iteration(
        self, iteration: int, trees: tuple[Tree, ...], sums: dict[str, int], party_count: int
    ) -> None:
        state, run = self.state, self._run
        with run.stopwatch.measure("scores"):
            self._rows.add(trees)
            if self._held_out is not None:
                self._held_out.add(trees)
        state.trees.append(trees)
        self._learn_losses(sums)
        if self._objective.has_constant_hessian:
            moved = np.array([float(np.abs(tree.value).max()) for tree in trees])
            state.reach = read_reach(sums, state.reach, LATER_BOUNDS) + moved
        state.finished = self._should_stop() or not any(tree.leaf_count > 1 for tree in trees)
        digest = digest_trees(state, run.digest_key)
        self._trail.add(digest)
        is_last = state.finished or iteration == self._settings.training.max_iter
        self._aggregation.end_group()
        self._aggregation.finish_round(leaves_step(iteration), digest, is_last)
        run.save(state)
        run.on_iteration(
            IterationRecord(
                iteration,
                state.losses[-1],
                dict(state.held_out[-1]) if state.held_out else {},
                sum(tree.leaf_count for tree in trees),
                party_count,
            ),
            state,
        )

    def measure_at_end(self) -> None:
        """Sum the losses of the final model, once."""
        if not self.state.measured:
            counters, class_count = self._losses(), self._settings.class_count
            scored = self._held_out if class_count else None
            if scored is not None:
                weight_max = self._settings.weight_max
                counters += score_counters(self._objective, scored.scores, scored.labels, weight_max)
            sums = sum_counters(self._aggregation, FINAL_STEP, counters, value_bits=COUNTER_BITS)
            self._learn_losses(sums)
            by_score = "" if scored is None else ", and held-out rows of all parties by score and class"
            self._run.note(FINAL_STEP, f"the losses of the final model{self._too}{by_score}")
            if scored is not None:
                self.state.held_out[-1] |= read_scores(sums, class_count)
            self.state.measured = True
            self._run.save(self.state)

    def compare_at_end(self) -> None:
        """Compare the final model, and the totals of all sums before it, with every other party."""
        digest = self._trail.end_with(digest_trees(self.state, self._run.digest_key), encode_totals(self.state))
        self._run.on_compared(self._aggregation.compare_final(digest))

    def _losses(self) -> list[Counter]:
        weight_max = self._settings.weight_max
        with self._run.stopwatch.measure("losses"):
            found = loss_counters(TRAINING, self._objective, self._rows.scores, self._rows.labels, weight_max)
            if self._held_out is not None:
                rows = self._held_out
                found += loss_counters(HELD_OUT, self._objective, rows.scores, rows.labels, weight_max)
        return found

    @property
    def _too(self) -> str:
        """What else losses are of, for the ledger."""
        return "" if self._held_out is None else ", of rows held out too"

    def _learn_losses(self, sums: dict[str, int]) -> None:
        class_count = self._settings.class_count
        self.state.losses.append(loss_of(read_losses(TRAINING, sums, class_count)))
        if self._held_out is not None:
            self.state.held_out.append(read_losses(HELD_OUT, sums, class_count))

    def _should_stop(self) -> bool:
        """By losses of held-out rows before each iteration: the last one's is known with the next."""
        training = self._settings.training
        losses = [IterationLoss(0.0, loss_of(one)) for one in self.state.held_out]
        return should_stop(losses, training)

    def _largest(self) -> tuple[FloatArray, FloatArray]:
        """What bounds first and second derivatives of every row, by tree; every party knows it."""
        count = self._settings.class_count
        most = 1.0 if count == 0 else 0.25 if count == 2 else 0.25 * (count / (count - 1))
        return self.state.reach, np.full(self.state.reach.size, most)

    def _round(
        self, derivatives: tuple[FloatArray, FloatArray], largest: tuple[FloatArray, FloatArray], iteration: int
    ) -> GradientLevels:
        training = self._settings.training
        return round_gradients(
            *derivatives,
            training.gradient_bits,
            self._generator(_ROUNDING, iteration) if training.rounding == "stochastic" else None,
            has_constant_hessian=self._objective.has_constant_hessian,
            largest=largest,
        )

    def _draw_rows(self, iteration: int) -> IntArray:
        """The rows of an iteration, ascending: all, or a part that each party draws by itself."""
        part, count = self._settings.training.subsample, self._rows.labels.size
        if part == 1:
            return np.arange(count)
        order = np.argsort(self._generator(_ROWS, iteration).random_raw(count), kind="stable")
        return np.sort(order[: max(1, round(part * count))])

    def _generator(self, purpose: int, iteration: int) -> np.random.PCG64:
        """Of this party alone, since every party has other rows."""
        seeds = [self._settings.training.seed, purpose, iteration, self._party_number]
        return np.random.PCG64(np.random.SeedSequence(seeds))

    def _columns(self, iteration: int) -> BoolArray:
        """The columns of an iteration, the same at all parties, of those that can be split at all."""
        can_split = np.flatnonzero(self._can_split)
        mask = np.zeros(self._can_split.size, dtype=np.bool_)
        # Iterations count from 0 where they are drawn.
        mask[can_split[sample_columns(self._settings.training, iteration - 1, can_split.size)]] = True
        return mask


def _told_of_reach(bounds: int) -> str:
    return f"how many parties have their largest gradient in each of {bounds} ranges"
