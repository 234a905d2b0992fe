"""An attack as a whole: from what is seen of an update to the rows that would have given it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError
from hekat.privacy.attacks.attacked_model import AttackedModel, check_update
from hekat.privacy.attacks.labels import LabelReading
from hekat.privacy.attacks.objective import CosineDistance, Objective, SquaredDifference
from hekat.privacy.attacks.optimiser import Found, LineSearch, Optimiser, SignedAdam
from hekat.privacy.attacks.prior import Box, Prior, TotalVariation
from hekat.privacy.attacks.restarts import Restarts
from hekat.privacy.attacks.sent_update import OneGradient, SentUpdate
from hekat.privacy.attacks.visible_update import VisibleUpdate
from hekat.torch_library import import_torch

ONE_GRADIENT = OneGradient()

TellProgress = Callable[[int, int], None]
"""Hears the number of the start, from 0 on, and its steps so far."""


@dataclass(frozen=True)
class Attack:
    """The four parts of an attack, and `box`, where its first guesses lie: uniform in it, standard normal for None."""

    name: str
    objective: Objective
    priors: tuple[Prior, ...]
    optimiser: Optimiser
    restarts: Restarts
    box: tuple[float, float] | None = (0.0, 1.0)


@dataclass(frozen=True)
class Reconstruction:
    """What an attack found: `rows` float64 of shape (rows, ...), clipped to the box; `labels`; the best start's
    `objective`, and the objective of each start."""

    rows: npt.NDArray[np.float64]
    labels: tuple[int, ...]
    objective: float
    objectives: tuple[float, ...]


def deep_leakage(
    *,
    picture_shape: tuple[int, int, int] | None = None,
    total_variation: float = 1e-3,
    box: tuple[float, float] | None = (0.0, 1.0),
    step_count: int = 600,
    restart_count: int = 2,
    priors: Sequence[Prior] = (),
) -> Attack:
    """DLG: squared differences by L-BFGS, for few rows and smooth nets, such as sigmoid ones.

    Args:
        picture_shape: (channels, height, width) that a row is looked at as; total variation needs it.
        total_variation: Its weight; 0 for none, as in the paper.
        box: Lowest and highest value of a cell; None for none.
        step_count: Of one start.
        restart_count: Starts.
        priors: More of them.

    Returns:
        The attack, for `invert`.

    Examples:
        >>> from hekat.privacy.attacks import deep_leakage
        >>> attack = deep_leakage(picture_shape=(1, 8, 8), step_count=100)
        >>> attack.name, len(attack.priors)
        ('dlg', 2)

    Source: Zhu et al., Deep Leakage from Gradients (2019).
    """
    held = (Box(*box),) if box is not None else ()
    smooth = _variation(picture_shape, total_variation)
    return Attack(
        "dlg",
        SquaredDifference(),
        (*held, *smooth, *priors),
        LineSearch(step_count),
        Restarts(restart_count),
        box,
    )


def inverting_gradients(
    *,
    picture_shape: tuple[int, int, int] | None = None,
    total_variation: float = 1e-2,
    box: tuple[float, float] | None = (0.0, 1.0),
    step_count: int = 4800,
    restart_count: int = 8,
    priors: Sequence[Prior] = (),
) -> Attack:
    """Inverting gradients: the cosine by Adam on signs, for ReLU nets, batches and several local steps.

    Args:
        picture_shape: (channels, height, width) that a row is looked at as; total variation needs it.
        total_variation: Its weight; 0 for none.
        box: Lowest and highest value of a cell; None for none.
        step_count: Of one start.
        restart_count: Starts.
        priors: More of them, such as `BatchNormStatistics`.

    Returns:
        The attack, for `invert`.

    Examples:
        >>> from hekat.privacy.attacks import inverting_gradients
        >>> inverting_gradients(restart_count=1).restarts.count
        1

    Source: Geiping et al., Inverting Gradients (2020).
    """
    return Attack(
        "inverting-gradients",
        CosineDistance(),
        (*_variation(picture_shape, total_variation), *priors),
        SignedAdam(step_count, box=box),
        Restarts(restart_count, enough=0.0),
        box,
    )


def invert(
    attack: Attack,
    model: AttackedModel,
    seen: VisibleUpdate,
    reading: LabelReading,
    *,
    row_shape: Sequence[int],
    row_count: int = 1,
    sent: SentUpdate = ONE_GRADIENT,
    seed: int = 0,
    tell: TellProgress = lambda start, step: None,
) -> Reconstruction:
    """Guess the rows of an update.

    Args:
        attack: Such as `deep_leakage()`.
        model: The model at the round's start.
        seen: What is visible of the update.
        reading: Labels as they were read or are known; where they are not, shares of the candidates are guessed too.
        row_shape: The shape of one row.
        row_count: How many rows the update is of.
        sent: What the party computed from its rows.
        seed: Of the first guesses.
        tell: Hears how far the attack is.

    Returns:
        The guess with the lowest objective of all starts.

    Raises:
        InputError: The update is none of this model, nothing of it is visible, labels do not fit the rows, the module's
            gradient has no derivative by its rows, so that guesses would stay as they are, or PyTorch cannot take it.

    Examples:
        >>> import torch
        >>> from hekat.privacy import Mask
        >>> from hekat.privacy.attacks import AttackedModel, LastLayer, VisibleUpdate
        >>> from hekat.privacy.attacks import inverting_gradients, invert, read_label
        >>> _ = torch.manual_seed(1)
        >>> layers = torch.nn.Linear(4, 6), torch.nn.Sigmoid(), torch.nn.Linear(6, 3)
        >>> model = AttackedModel(torch.nn.Sequential(*layers))
        >>> update = model.gradient(torch.tensor([[0.1, 0.9, 0.4, 0.6]]), torch.tensor([2]))
        >>> mask = Mask.nothing({name: tensor.numel() for name, tensor in update.items()})
        >>> seen = VisibleUpdate.adaptive(update, mask)
        >>> reading = read_label(LastLayer.of(model), seen)
        >>> attack = inverting_gradients(step_count=200, restart_count=1)
        >>> found = invert(attack, model, seen, reading, row_shape=(4,))
        >>> found.rows.round(1), found.labels
        (array([[0.1, 0.9, 0.4, 0.6]]), (2,))
    """
    torch = import_torch()
    check_update(model, seen.values)
    if not seen.compared_count:
        raise InputError(
            "there is nothing to attack",
            expected="a mask that leaves a value visible",
            got=f"all {seen.value_count} values masked",
            cure="none needed: the update tells nothing",
        )
    if reading.labels is not None and len(reading.labels) != row_count:
        raise InputError(
            "labels do not fit the rows",
            expected=f"{row_count} labels",
            got=str(len(reading.labels)),
            cure="give one for each row",
        )
    first = next(iter(model.parameters.values()))
    labels = _GuessedLabels(reading, row_count, first)

    def lower(guess: Sequence[Any]) -> Any:
        guessed = sent.of(model, guess[0], labels.of(guess[1:]), differentiable=True)
        return attack.objective(guessed, seen) + sum(prior(guess[0]) for prior in attack.priors)

    def first_guess(number: int) -> list[Any]:
        dice = torch.Generator().manual_seed(seed * 1_000_003 + number)
        shape = (row_count, *row_shape)
        if attack.box is None:
            rows = torch.randn(shape, generator=dice)
        else:
            low, high = attack.box
            rows = low + (high - low) * torch.rand(shape, generator=dice)
        return [rows.to(first), *labels.start(dice)]

    def attempt(number: int) -> Found:
        return attack.optimiser.minimise(lower, first_guess(number), lambda step: tell(number, step))

    guesses = map(first_guess, range(attack.restarts.count))
    if not any(model.moves_with(guess[0], labels.of(guess[1:])) for guess in guesses):
        raise InputError(
            "the module is without gradients by its rows",
            expected="slopes of the loss that change with the rows: an attack follows their derivative",
            got=f"no derivative, or zero in every cell, at the first guesses of {attack.restarts.count} starts",
            cure="put something smooth in place of rounding, thresholds and detached values, or take other weights; "
            "what the update tells of the rows is not known by this",
        )
    found, values = attack.restarts.search(attempt)
    rows = np.asarray(found.guess[0].cpu().numpy(), dtype=np.float64)
    if attack.box is not None:
        rows = np.clip(np.nan_to_num(rows), *attack.box)
    return Reconstruction(rows, labels.found(found.guess[1:]), found.value, values)


class _GuessedLabels:
    """Labels as the loss takes them: known ones as numbers, guessed ones as shares of the candidates."""

    def __init__(self, reading: LabelReading, row_count: int, like: Any) -> None:
        torch = import_torch()
        self._reading, self._row_count, self._like = reading, row_count, like
        if reading.labels is not None:
            self._known = torch.tensor(reading.labels, device=like.device)

    def start(self, dice: Any) -> list[Any]:
        torch = import_torch()
        if self._reading.labels is not None:
            return []
        return [torch.randn(self._row_count, len(self._reading.candidates), generator=dice).to(self._like)]

    def of(self, guess: Sequence[Any]) -> Any:
        torch = import_torch()
        if self._reading.labels is not None:
            return self._known
        shares = torch.softmax(guess[0], dim=1)
        whole = shares.new_zeros(self._row_count, self._reading.class_count)
        places = torch.tensor(self._reading.candidates, device=shares.device).expand(self._row_count, -1)
        return whole.scatter(1, places, shares)

    def found(self, guess: Sequence[Any]) -> tuple[int, ...]:
        if self._reading.labels is not None:
            return self._reading.labels
        return tuple(self._reading.candidates[int(place)] for place in guess[0].argmax(dim=1))


def _variation(picture_shape: tuple[int, int, int] | None, weight: float) -> tuple[Prior, ...]:
    return () if picture_shape is None or weight == 0 else (TotalVariation(weight, picture_shape),)
