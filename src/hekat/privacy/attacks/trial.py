"""One trial: a party's rows, a mask, and what an attacker makes of what the mask leaves of the update."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hekat.privacy.attacks.attacked_model import AttackedModel
from hekat.privacy.attacks.inversion import ONE_GRADIENT, Attack, TellProgress, invert
from hekat.privacy.attacks.labels import LabelReading, read_labels
from hekat.privacy.attacks.last_layer import LastLayer
from hekat.privacy.attacks.sent_update import OneGradient, SentUpdate
from hekat.privacy.attacks.visible_update import VisibleUpdate
from hekat.privacy.mask import Mask

Attacker = Literal["adaptive", "naive"]
ATTACKERS: tuple[Attacker, ...] = ("adaptive", "naive")


@dataclass(frozen=True)
class Trial:
    """What came of it.

    Attributes:
        rows: The guesses, float64 in the shape of the party's rows and in their order; None where the mask hides all.
        reading: What was read of the labels, before any guess.
        labels: The labels of the guesses.
        objective: The lowest of all starts; None where the mask hides all.
        objectives: The lowest of each start.
        cpu_seconds: Processor time of this process.
    """

    rows: npt.NDArray[np.float64] | None
    reading: LabelReading
    labels: tuple[int, ...] | None
    objective: float | None
    objectives: tuple[float, ...]
    cpu_seconds: float


def attack_rows(
    attack: Attack,
    model: AttackedModel,
    rows: Any,
    labels: Any,
    mask: Mask,
    *,
    attacker: Attacker = "adaptive",
    knows_labels: bool = False,
    sent: SentUpdate = ONE_GRADIENT,
    seed: int = 0,
    tell: TellProgress = lambda start, step: None,
) -> Trial:
    """Compute a party's update, mask it, and attack what is visible.

    Args:
        attack: Such as `deep_leakage()`.
        model: The model at the round's start.
        rows: The party's rows, one tensor, rows first.
        labels: Their classes, int64 of shape (rows,).
        mask: Its chosen values are masked.
        attacker: "adaptive", who knows the mask, or "naive", who takes masked values for zeros.
        knows_labels: The attacker is given the labels; otherwise it reads them off the last layer, and guesses what it
            cannot read.
        sent: What the party computes from its rows.
        seed: Of the first guesses.
        tell: Hears how far the attack is.

    Returns:
        The trial, guesses matched to the rows they are nearest to.

    Raises:
        InputError: The module gives no gradient, or the mask is none of this model.
    """
    begun = time.process_time()
    update = sent.of(model, rows, labels, differentiable=False)
    see = VisibleUpdate.adaptive if attacker == "adaptive" else VisibleUpdate.naive
    seen = see(update, mask)
    class_count = model.class_count(rows[:1])
    layer = LastLayer.of(model)
    reading = LabelReading.unread(class_count)
    if layer is not None:
        reading = read_labels(layer, replace(seen, values=sent.as_gradient(seen.values)), len(rows))
    if mask.chosen_count == mask.value_count:
        return Trial(None, LabelReading.unread(class_count), None, None, (), time.process_time() - begun)
    if attacker == "adaptive" and layer is not None and len(rows) == 1 and isinstance(sent, OneGradient):
        seen = layer.complete(seen)
    found = invert(
        attack,
        model,
        seen,
        LabelReading.known(labels.tolist(), class_count) if knows_labels else reading,
        row_shape=rows.shape[1:],
        row_count=len(rows),
        sent=sent,
        seed=seed,
        tell=tell,
    )
    order = _match(np.asarray(rows.detach().cpu().numpy(), dtype=np.float64), found.rows)
    return Trial(
        found.rows[order],
        reading,
        tuple(found.labels[place] for place in order),
        found.objective,
        found.objectives,
        time.process_time() - begun,
    )


def _match(rows: npt.NDArray[np.float64], found: npt.NDArray[np.float64]) -> list[int]:
    """Which guess belongs to each row, by the least sum of squared differences: a batch has no order."""
    from scipy.optimize import linear_sum_assignment

    flat, guesses = rows.reshape(len(rows), -1), np.nan_to_num(found.reshape(len(found), -1))
    costs = ((flat[:, None] - guesses[None]) ** 2).sum(axis=2)
    return [int(place) for place in linear_sum_assignment(costs)[1]]
