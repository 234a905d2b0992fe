"""DLG on the LeNet at each mask, by the adaptive and the naive attacker: scores beside floor and ceiling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hekat.privacy import Mask, SensitivityMap
from hekat.privacy.attacks import AttackedModel, deep_leakage
from hekat.privacy.attacks.picture_scores import as_picture, floors_and_ceilings, score_beside
from hekat.privacy.attacks.trial import Attacker, attack_rows
from inversion.subjects import SHAPE, Pictures

NAIVE = ("0.1 by map", "0.1 at random", "0.425 at random")


def attack_pictures(
    model: AttackedModel,
    pictures: Pictures,
    masks: dict[str, Mask],
    *,
    step_count: int,
    restart_count: int,
    say: Callable[[str], None],
) -> list[dict[str, Any]]:
    """A row for each picture, mask and attacker."""
    attack = deep_leakage(picture_shape=SHAPE, step_count=step_count, restart_count=restart_count)
    rows = []
    tasks: list[tuple[str, Attacker]] = [(name, "adaptive") for name in masks]
    tasks += [(name, "naive") for name in NAIVE if name in masks]
    for place, picture in pictures.names.items():
        true = as_picture(pictures.rows[place].numpy(), SHAPE)
        bounds = floors_and_ceilings(true, seed=place)
        given = pictures.rows[place : place + 1], pictures.labels[place : place + 1]
        for name, attacker in tasks:
            trial = attack_rows(attack, model, *given, masks[name], attacker=attacker, seed=place)
            scores = {}
            if trial.rows is not None:
                scores = score_beside(true, as_picture(trial.rows, SHAPE), bounds)
            rows.append(
                {
                    "part": "picture",
                    "picture": picture,
                    "mask": name,
                    "attacker": attacker,
                    "masked": masks[name].chosen_count,
                    "values": masks[name].value_count,
                    "objective": trial.objective,
                    "cpu_s": round(trial.cpu_seconds, 2),
                    "label_read": trial.reading.labels == (int(given[1][0]),),
                    **{key: round(score.value, 4) for key, score in scores.items()},
                    "floor": {key: round(pair[0], 4) for key, pair in bounds.items()},
                    "ceiling": {key: round(pair[1], 4) for key, pair in bounds.items()},
                }
            )
            say(f"{picture}, {name}, {attacker}: SSIM {rows[-1].get('ssim', 'nothing visible')}")
    return rows


def describe_map(model: AttackedModel, found: SensitivityMap, mask: Mask) -> list[dict[str, Any]]:
    """Figure 13 in numbers: of each tensor its share of all sensitivity, and how much of it the mask takes."""
    total = sum(float(np.sum(values)) for values in found.tensors.values())
    return [
        {
            "part": "map",
            "tensor": name,
            "values": tensor.numel(),
            "of_all_values": round(tensor.numel() / mask.value_count, 4),
            "of_sensitivity": round(float(np.sum(found.tensors[name])) / total, 4),
            "masked_of_it": round(float(mask.chosen(name).mean()), 4),
        }
        for name, tensor in model.parameters.items()
    ]
