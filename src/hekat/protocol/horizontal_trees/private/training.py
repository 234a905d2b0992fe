"""The loop of one party: each iteration draws public splits, and opens noised sums of derivatives by leaf.

1. bins by public bounds, scores of 0: nothing of rows is asked for
2. each iteration: the site's budget charged; splits drawn from the job's seed; own derivatives summed by leaf, in
   levels, with own noise; the sum of all parties opened; leaves valued from it, the same at all parties; the digest of
   the model reported
3. compare the final model with every other party

Noise belongs to the numbers of an iteration and is drawn once: an opening that fails sends the same numbers again.

Source: Maddock et al. 2022 (Federated boosted decision trees with differential privacy), sections 4 and 5.
"""

from __future__ import annotations

import numpy as np

from hekat.codec.clip import FloatArray
from hekat.data import Table
from hekat.ledger.privacy.records import SETUP_STEP, ChargeRecord, finite
from hekat.model.trees import Tree, bin_rows, make_objective
from hekat.model.trees.random_structure import draw_structure, with_leaf_values
from hekat.model.trees.rounding import IntArray
from hekat.privacy.accounting.leaf_sums import LEVELS
from hekat.privacy.noise import draw_noise
from hekat.protocol.horizontal_trees.private.settings import SHRINKING_STDS, LeafNoise
from hekat.protocol.horizontal_trees.settings import HorizontalTreesSettings
from hekat.protocol.horizontal_trees.state import TreesState, digest_trees, encode_totals
from hekat.protocol.horizontal_trees.sums_ahead import leaves_step
from hekat.protocol.horizontal_trees.training import IterationCost, IterationRecord, LocalRun, check_rows
from hekat.protocol.secure_sum.aggregation import Aggregation
from hekat.protocol.secure_sum.agreement.final_model import ModelTrail
from hekat.protocol.secure_sum.integer_sums import sum_integers

_STRUCTURE = 2


def train_privately(
    aggregation: Aggregation, table: Table, settings: HorizontalTreesSettings, run: LocalRun
) -> TreesState:
    """Train to the last iteration; returns the state that every party ends with.

    Raises InputError for rows that trees cannot learn from, and columns without bounds.
    """
    check_rows(table, settings)
    trainer = _PrivateTrainer(aggregation, table, settings, run)
    while not trainer.state.finished:
        trainer.play()
    return trainer.end()


class _PrivateTrainer:
    """One party's loop: its rows in public bins, and the state that all parties share."""

    def __init__(
        self, aggregation: Aggregation, table: Table, settings: HorizontalTreesSettings, run: LocalRun
    ) -> None:
        assert settings.privacy is not None  # the caller's
        assert table.labels is not None  # checked
        self._aggregation, self._settings, self._run = aggregation, settings, run
        self._noise: LeafNoise = settings.leaf_noise
        self._objective = make_objective(settings.class_count)
        bins = settings.privacy.public_bins(table.feature_names, table.indicators, settings.training.max_bins)
        count = settings.tree_count
        nothing = tuple(np.zeros(one.bin_count, np.int64) for one in bins)
        begins = TreesState(bins, nothing, 0, np.zeros(count), np.ones(count), measured=True)
        self.state = begins if run.resume_from is None else run.resume_from
        with run.stopwatch.measure("bin"):
            binned = bin_rows(np.asarray(table.features, np.float64), bins)
        self._digits, self._labels = binned.digits, table.labels
        self._scores = self.state.ensemble.raw_scores(binned)
        self._releases = self.state.iterations_done
        self._trail = ModelTrail(run.digest_key)
        run.record(self._noise.describe(settings.privacy), SETUP_STEP)

    def play(self) -> None:
        """One iteration, to the report of its model. Raises BudgetError before anything of it is sent."""
        iteration, run = self.state.iterations_done + 1, self._run
        step = leaves_step(iteration)
        cost = self._charge(iteration)
        structures = [self._draw(iteration, number) for number in range(self._settings.tree_count)]
        with run.stopwatch.measure("gradients"):
            first, second = self._objective.gradients(self._scores, self._labels)
        leaves: list[IntArray] = []
        own: dict[str, IntArray] = {}
        with run.stopwatch.measure("histograms"):
            for number, tree in enumerate(structures):
                places = np.cumsum(tree.column < 0) - 1
                leaves.append(places[tree.leaf_of_digits(self._digits)])
                own[f"tree-{number}"] = _sum_by_leaf(leaves[-1], tree.leaf_count, (first[number], second[number]))
            noised = {name: sums + draw_noise(self._noise.law, sums.shape) for name, sums in own.items()}
        sums = sum_integers(
            self._aggregation,
            step,
            noised,
            maximum=self._noise.maximum,
            weight_max=self._settings.weight_max,
        )
        count = sum(tree.leaf_count for tree in structures)
        run.note(step, f"gradients of all parties in {count} leaves of public splits, with noise of every party")
        trees = tuple(
            with_leaf_values(tree, self._values_of(sums.tensors[f"tree-{number}"]))
            for number, tree in enumerate(structures)
        )
        for number, tree in enumerate(trees):
            self._scores[number] += tree.value[tree.column < 0][leaves[number]]
        self._finish(step, trees, sums.party_count, cost)

    def end(self) -> TreesState:
        """Compare the final model with every other party."""
        digest = self._trail.end_with(digest_trees(self.state, self._run.digest_key), encode_totals(self.state))
        self._run.on_compared(self._aggregation.compare_final(digest))
        return self.state

    def _charge(self, iteration: int) -> IterationCost:
        privacy = self._settings.privacy
        assert privacy is not None  # the caller's
        spent = self._run.charge(iteration, self._noise.claimed)
        self._releases = self._releases + 1 if spent is None else spent.job_count
        claimed, alone = (self._noise.epsilon(self._releases, privacy, at_one=one) for one in (False, True))
        total, limit = (None, None) if spent is None else (finite(spent.epsilon), spent.limit)
        charge = ChargeRecord(self._releases, finite(claimed), finite(alone), total, limit)
        self._run.record(charge, leaves_step(iteration))
        return IterationCost(self._releases, claimed, alone, spent)

    def _draw(self, iteration: int, number: int) -> Tree:
        training = self._settings.training
        seeds = np.random.SeedSequence([training.seed, _STRUCTURE, iteration, number])
        return draw_structure(self.state.bins, training.max_depth, np.random.PCG64(seeds))

    def _values_of(self, sums: IntArray) -> FloatArray:
        """Values of leaves from noised sums (leaves, 2): -G / (max(H, 1) + l2 + 3 standard deviations)."""
        training = self._settings.training
        first, second = sums.T / LEVELS
        shrinking = training.l2_regularization + SHRINKING_STDS * self._noise.total_std
        values: FloatArray = -training.learning_rate * first / (np.maximum(second, 1.0) + shrinking)
        return values

    def _finish(self, step: str, trees: tuple[Tree, ...], party_count: int, cost: IterationCost) -> None:
        state, run = self.state, self._run
        state.trees.append(trees)
        iteration = state.iterations_done
        state.finished = iteration == self._settings.training.max_iter
        digest = digest_trees(state, run.digest_key)
        self._trail.add(digest)
        self._aggregation.end_group()
        self._aggregation.finish_round(step, digest, state.finished)
        run.save(state)
        leaf_count = sum(tree.leaf_count for tree in trees)
        run.on_iteration(IterationRecord(iteration, None, {}, leaf_count, party_count, cost), state)


def _sum_by_leaf(places: IntArray, leaf_count: int, derivatives: tuple[FloatArray, FloatArray]) -> IntArray:
    """Sums of levels (leaves, 2); `places` says each row's leaf. A row's levels are the nearest ones."""
    found = np.zeros((leaf_count, 2), np.int64)
    for column, values in enumerate(derivatives):
        np.add.at(found[:, column], places, np.rint(values * LEVELS).astype(np.int64))
    return found
