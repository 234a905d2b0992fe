"""Holds a checkpoint against the job before anything is resumed: a file can be whole and yet no state of this training.

The digest in a checkpoint tells damage, not who wrote it: a state that training cannot start from is refused here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.model.parameters import Shapes, shapes_of
from hekat.protocol.horizontal.settings import MAX_ALPHA, MIN_ALPHA, HorizontalSettings
from hekat.protocol.horizontal.training import MAX_LOSS, build_model, build_optimiser
from hekat.state import Checkpoint, refuse_checkpoint

_BOUND = "bound/"
# Running powers beta^t of Adam; one that is not below 1 after a step would be divided by zero.
_POWERS = ("beta_1_power", "beta_2_power")
# Sums and means of squares, whose root is taken.
_SQUARES = ("mean_square/", "second_moment/")


def check_resumable(what: str, checkpoint: Checkpoint, settings: HorizontalSettings, column_count: int) -> None:
    """Raise StateError unless `checkpoint` can be a state of this training, for tables of `column_count` columns."""
    shapes = build_model(settings, column_count).parameter_shapes
    _check_arrays(what, "parameters", checkpoint.parameters, shapes)
    _check_optimiser_state(what, checkpoint.optimiser_state, settings, shapes)
    codec_state = {name: np.asarray(values) for name, values in checkpoint.codec_state.items()}
    clips = settings.protection != "none" and settings.codec.clipping == "adaptive"
    expected: Shapes = {
        "standardiser/mean": (column_count,),
        "standardiser/spread": (column_count,),
        "finished": (),
        **{f"{_BOUND}{name}": () for name in (shapes if clips else ())},
    }
    _check_arrays(what, "codec_state", codec_state, expected)
    if not (codec_state["standardiser/spread"] > 0).all():
        raise refuse_checkpoint(what, "a spread above 0 for every column", "one that is not")
    if codec_state["finished"] not in (0.0, 1.0):
        raise refuse_checkpoint(what, "finished, 0 or 1", "another number")
    for name, bound in codec_state.items():
        if name.startswith(_BOUND) and not MIN_ALPHA <= bound <= MAX_ALPHA:
            raise refuse_checkpoint(what, f"{name} from 2^-40 to 2^40", "a number outside")
    _check_losses(what, checkpoint)


def _check_losses(what: str, checkpoint: Checkpoint) -> None:
    history, count = checkpoint.metrics_history, checkpoint.rounds_done
    if len(history) != count:
        raise refuse_checkpoint(what, f"one loss for each of {count} rounds", f"{len(history)} entries")
    if not all(set(entry) == {"loss"} and 0 <= entry["loss"] <= MAX_LOSS for entry in history):
        raise refuse_checkpoint(what, f"a loss from 0 to {MAX_LOSS:g} for each round", "something else")


def _check_optimiser_state(
    what: str, state: Mapping[str, npt.NDArray[Any]], settings: HorizontalSettings, shapes: Shapes
) -> None:
    first = build_optimiser(settings.training).init_state({name: np.zeros(shape) for name, shape in shapes.items()})
    _check_arrays(what, "optimiser_state", state, shapes_of(first))
    for name, values in state.items():
        is_counted = name == "step_count" or name.startswith(_SQUARES)
        if (is_counted and (values < 0).any()) or (name in _POWERS and not 0 <= values <= 1):
            raise refuse_checkpoint(what, f"an optimiser_state/{name} that training can reach", "numbers out of range")


def _check_arrays(what: str, group: str, arrays: Mapping[str, npt.NDArray[Any]], expected: Shapes) -> None:
    missing, strangers = sorted(expected.keys() - arrays.keys()), sorted(arrays.keys() - expected.keys())
    if missing or strangers:
        names = ", ".join([*(f"no {name!r}" for name in missing[:5]), *(f"unknown {name!r}" for name in strangers[:5])])
        raise refuse_checkpoint(what, f"{group} as this job's model and optimiser have them", names)
    for name, shape in expected.items():
        values = arrays[name]
        if values.shape != shape or values.dtype != np.float64:
            got = f"shape {values.shape} of {values.dtype}"
            raise refuse_checkpoint(what, f"{group}/{name} of shape {shape} of float64", got)
        if not np.isfinite(values).all():
            raise refuse_checkpoint(what, f"finite numbers in {group}/{name}", "NaN or infinity")
