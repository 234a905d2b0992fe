"""Iteration after iteration of trees, until the last or until held-out rows stop getting better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from hekat.model.trees.growth import HistogramSource, grow_trees
from hekat.model.trees.settings import TreeTraining
from hekat.model.trees.tree import Tree


@dataclass(frozen=True)
class IterationLoss:
    """Mean losses after an iteration: of the training rows, and of the held-out rows where there are some."""

    training: float
    held_out: float | None = None


class BoostingSource(HistogramSource, Protocol):
    """A source that also keeps the scores of its rows."""

    def begin_iteration(self, iteration: int) -> None:
        """Draw rows and columns, and round the gradients of the scores so far."""
        ...

    def end_iteration(self, trees: Sequence[Tree]) -> IterationLoss:
        """Move the scores by the grown trees."""
        ...


@dataclass(frozen=True)
class BoostedTrees:
    """Trees by iteration with the losses after each."""

    trees: tuple[tuple[Tree, ...], ...] = ()
    losses: tuple[IterationLoss, ...] = ()


def boost(
    source: BoostingSource,
    training: TreeTraining,
    tree_count: int,
    *,
    before: BoostedTrees | None = None,
    on_iteration: Callable[[int, tuple[Tree, ...], IterationLoss], None] | None = None,
) -> BoostedTrees:
    """Grow trees until there are `max_iter` iterations or `should_stop` says so, and return all of them.

    `before`: iterations that are there already, and whose trees moved the scores of `source`; they count. The losses
    may be fewer than the trees where a model goes on with other rows. `on_iteration` hears the number of each
    iteration, its trees and losses.
    """
    trees, losses = (list(before.trees), list(before.losses)) if before else ([], [])
    while len(trees) < training.max_iter and not should_stop(losses, training):
        iteration = len(trees)
        source.begin_iteration(iteration)
        grown = tuple(grow_trees(source, training, tree_count))
        loss = source.end_iteration(grown)
        trees.append(grown)
        losses.append(loss)
        if on_iteration is not None:
            on_iteration(iteration, grown, loss)
    return BoostedTrees(tuple(trees), tuple(losses))


def should_stop(losses: Sequence[IterationLoss], training: TreeTraining) -> bool:
    """Whether none of the last `n_iter_no_change` held-out losses is better by more than `tol` than the one before
    them; never without early stopping."""
    if not training.early_stopping or len(losses) <= training.n_iter_no_change:
        return False
    held_out = [loss.held_out if loss.held_out is not None else loss.training for loss in losses]
    reference = held_out[-training.n_iter_no_change - 1] - training.tol
    return all(loss >= reference for loss in held_out[-training.n_iter_no_change :])
