"""Runs every trial of `hekat attack`, mask after mask for each update, and says how far it is."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.cli.attack.masks import NamedMask
from hekat.cli.attack.read_texts import read_texts
from hekat.cli.attack.rows import LoadedRows
from hekat.cli.attack.sent import sent_update
from hekat.privacy.attacks import AttackedModel, deep_leakage, inverting_gradients
from hekat.privacy.attacks.cell_scores import floor_of_cells_read, share_of_cells_read, share_of_labels_read
from hekat.privacy.attacks.inversion import Attack
from hekat.privacy.attacks.picture_scores import Picture, as_picture, floors_and_ceilings, score_beside
from hekat.privacy.attacks.trial import Trial, attack_rows
from hekat.progress_line import ProgressLine
from hekat.torch_library import import_torch

DEFAULT_STEPS = {"dlg": 1200, "inverting-gradients": 4800}
DEFAULT_STARTS = {"dlg": 2, "inverting-gradients": 2}


@dataclass
class TrialTable:
    """Finished trials as scores.json has them, and the pictures of the page by (row, mask); mask None: the row."""

    trials: list[dict[str, Any]] = field(default_factory=list)
    pictures: dict[tuple[int, str | None], Picture] = field(default_factory=dict)


def make_attack(options: argparse.Namespace, rows: LoadedRows) -> Attack:
    """The attack that the options name."""
    settings: dict[str, Any] = {
        "picture_shape": rows.picture_shape,
        "box": rows.box,
        "step_count": options.steps or DEFAULT_STEPS[options.attack],
        "restart_count": options.restarts or DEFAULT_STARTS[options.attack],
    }
    settings |= {} if options.total_variation is None else {"total_variation": options.total_variation}
    return deep_leakage(**settings) if options.attack == "dlg" else inverting_gradients(**settings)


def run_trials(
    options: argparse.Namespace,
    attack: Attack,
    model: AttackedModel,
    rows: LoadedRows,
    masks: Sequence[NamedMask],
    table: TrialTable,
) -> None:
    """Fill the table trial by trial, so that whoever interrupts it finds what is finished."""
    torch = import_torch()
    starts, steps = attack.restarts.count, attack.optimiser.step_count
    total = len(rows.taken) * len(masks) * starts * steps
    with ProgressLine("attack", total) as line:
        for place, taken in enumerate(rows.taken):
            numbers = list(taken)
            given = torch.from_numpy(rows.features[numbers]), torch.from_numpy(rows.labels[numbers])
            judge = _judge(rows, taken, table.pictures)
            for number, mask in enumerate(masks):
                before = (place * len(masks) + number) * starts * steps
                text = f"update {place + 1} of {len(rows.taken)}, {mask.name}"

                def tell(start: int, step: int, *, before: int = before, text: str = text) -> None:
                    line.reach(before + start * steps + step, text)

                if rows.holds_tokens:
                    trial, found = read_texts(options, model, rows, taken, mask.mask)
                    table.trials.append(_facts(place, taken, mask.name, trial, given[1].tolist(), found))
                    continue
                trial = attack_rows(
                    attack,
                    model,
                    *given,
                    mask.mask,
                    attacker=options.attacker,
                    knows_labels=options.knows_labels,
                    sent=sent_update(options),
                    seed=options.seed,
                    tell=tell,
                )
                table.trials.append(_facts(place, taken, mask.name, trial, given[1].tolist(), judge(mask.name, trial)))


def _facts(
    update: int, taken: Sequence[int], mask: str, trial: Trial, labels: list[int], scores: list[dict[str, Any]]
) -> dict[str, Any]:
    read = trial.reading.labels
    return {
        "update": update,
        "rows": list(taken),
        "mask": mask,
        "labels_read": None if read is None else share_of_labels_read(labels, read),
        "label_candidates": len(trial.reading.candidates),
        "objective": _finite(trial.objective),
        "objectives": [_finite(value) for value in trial.objectives],
        "cpu_seconds": round(trial.cpu_seconds, 3),
        "scores": scores,
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None


def _judge(
    rows: LoadedRows, taken: Sequence[int], pictures: dict[tuple[int, str | None], Picture]
) -> Callable[[str, Trial], list[dict[str, Any]]]:
    """Scores of a trial, one table for each row of the update; pictures are kept on the way."""
    if rows.picture_shape is None:
        return lambda mask, trial: [_cell_scores(rows, row, trial, place) for place, row in enumerate(taken)]
    shape, box = rows.picture_shape, rows.box or (0.0, 1.0)
    originals = {row: as_picture(rows.features[row], shape, box) for row in taken}
    bounds = {row: floors_and_ceilings(picture, seed=row) for row, picture in originals.items()}
    pictures.update({(row, None): picture for row, picture in originals.items()})

    def judge(mask: str, trial: Trial) -> list[dict[str, Any]]:
        if trial.rows is None:
            return [{} for _ in taken]
        found = [as_picture(row, shape, box) for row in trial.rows]
        pictures.update({(row, mask): picture for row, picture in zip(taken, found, strict=True)})
        return [
            {
                name: {"value": score.value, "floor": score.floor, "ceiling": score.ceiling}
                for name, score in score_beside(originals[row], picture, bounds[row]).items()
            }
            for row, picture in zip(taken, found, strict=True)
        ]

    return judge


def _cell_scores(rows: LoadedRows, row: int, trial: Trial, place: int) -> dict[str, Any]:
    if trial.rows is None:
        return {}
    true: npt.NDArray[Any] = rows.features[row]
    low, high = rows.features.min(axis=0), rows.features.max(axis=0)
    share = share_of_cells_read(true, trial.rows[place], high - low)
    return {"cells": {"value": share, "floor": floor_of_cells_read(true, low, high, seed=row), "ceiling": 1.0}}
