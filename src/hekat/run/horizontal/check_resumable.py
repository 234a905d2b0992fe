"""Checks a checkpoint against the job before a run resumes: a whole file can still be no state of this training.

The digest in a checkpoint shows damage, not the writer: this module refuses a state from which training cannot start.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError
from hekat.model import Model
from hekat.model.parameters import Shapes, shapes_of
from hekat.privacy import Mask
from hekat.protocol.horizontal.settings import MAX_LOSS, HorizontalSettings
from hekat.protocol.horizontal.training.make_step import make_step, state_like
from hekat.protocol.horizontal.training.score_bins import PLACE_COUNT
from hekat.protocol.horizontal.training.trained_tensors import CONTROL, TrainedTensors
from hekat.protocol.horizontal.training.training_state import SEEN
from hekat.protocol.horizontal.training.validation import scored_classes
from hekat.protocol.secure_sum.settings import MAX_ALPHA, MIN_ALPHA
from hekat.run.horizontal.privacy_budgets import plan_of
from hekat.run.horizontal.validation_history import check_history
from hekat.state import Checkpoint, refuse_checkpoint

_BOUND = "bound/"
VOCABULARY = "vocabulary"
FILL = "standardiser/fill"
LABEL = "standardiser/label"
VALIDATION_EDGES = "validation/edges"
LAST_ROUND = "last_round/"
ROW_COUNT = "row_count"
MASK = "mask"
MASK_VALUES = "mask_values"
"""How many values the mask is over; its last byte has room for some more."""
# Running powers beta^t of Adam; a power that is not below 1 after a step would cause a division by zero.
_POWERS = ("beta_1_power", "beta_2_power")
# Sums and means of squares, whose root is taken.
_SQUARES = ("mean_square/", "second_moment/", "square_sum/")
# Of a line search: what is never below zero, and what is divided by.
_NOT_NEGATIVE = ("penalty", "row_count", "loss", "step_size", "settled")
_ABOVE_ZERO = ("scale",)


def check_resumable(
    what: str, checkpoint: Checkpoint, settings: HorizontalSettings, column_count: int, model: Model
) -> None:
    """Raise StateError unless `checkpoint` can be a state of this training of `model`, for tables of `column_count`
    columns."""
    shapes = model.parameter_shapes
    trained = TrainedTensors.of(model, settings.model.parameters)
    sent = trained.update_like(model, has_control=settings.training.has_control)
    _check_arrays(what, "parameters", checkpoint.parameters, shapes)
    zeros = {name: np.zeros(shape) for name, shape in shapes.items()}
    first = state_like(make_step(model, trained, settings), settings, zeros, column_count)
    _check_optimiser_state(what, checkpoint.optimiser_state, first)
    codec_state = {name: np.asarray(values) for name, values in checkpoint.codec_state.items()}
    if settings.found:  # read and checked by itself
        codec_state.pop(VOCABULARY, None)
    if settings.selective is not None:
        mask_of(what, checkpoint, settings, model)
        codec_state.pop(MASK)
        codec_state.pop(MASK_VALUES)
    clips = settings.protection != "none" and settings.sums.codec.clipping == "adaptive"
    scored = scored_classes(settings)
    expected: Shapes = {
        "standardiser/mean": (column_count,),
        "standardiser/spread": (column_count,),
        **({FILL: (column_count,)} if settings.fills else {}),
        # A run that began before networks learned standardised labels goes on without.
        **({LABEL: (2,)} if settings.standardises_labels and LABEL in codec_state else {}),
        "finished": (),
        **{f"{_BOUND}{name}": () for name in (sent if clips else ())},
        **_shapes_of_shared(settings, {name: sent[name].shape for name in sent if name.startswith(CONTROL)}),
        **_shapes_of_seen(settings, {name: shapes[name] for name in trained.weights}),
        **({VALIDATION_EDGES: (len(scored), settings.validation.bins - 1)} if scored else {}),
    }
    _check_arrays(what, "codec_state", codec_state, expected)
    if not (codec_state["standardiser/spread"] > 0).all():
        raise refuse_checkpoint(what, "a spread above 0 for every column", "one that is not")
    label_spread = codec_state[LABEL][1] if LABEL in codec_state else 1.0
    if label_spread <= 0:
        raise refuse_checkpoint(what, "a spread of labels above 0", "one that is not")
    if codec_state["finished"] not in (0.0, 1.0):
        raise refuse_checkpoint(what, "finished, 0 or 1", "another number")
    for name, bound in codec_state.items():
        if name.startswith(_BOUND) and not MIN_ALPHA <= bound <= MAX_ALPHA:
            raise refuse_checkpoint(what, f"{name} from 2^-40 to 2^40", "a number outside")
    _check_shared(what, codec_state, checkpoint.rounds_done)
    if scored:
        _check_edges(what, codec_state[VALIDATION_EDGES])
    plan = plan_of(settings, model)
    if plan is None:
        _check_losses(what, checkpoint, 0.0, MAX_LOSS * max(1.0, label_spread**2))
    else:  # noise may take a loss below 0
        _check_losses(what, checkpoint, -plan.largest_loss, plan.largest_loss)
    check_history(what, checkpoint.metrics_history, settings)


def mask_of(what: str, checkpoint: Checkpoint, settings: HorizontalSettings, model: Model) -> Mask:
    """The mask in the checkpoint of a job that masks a part of every update. Raises StateError."""
    assert settings.selective is not None
    trained = TrainedTensors.of(model, settings.model.parameters)
    sizes = {name: prod(model.parameter_shapes[name]) for name in trained.weights}
    bits = np.asarray(checkpoint.codec_state.get(MASK, ()))
    rules = settings.selective.rules
    try:
        mask = Mask(sizes, bits.tobytes() if bits.dtype == np.uint8 and bits.ndim == 1 else b"")
    except InputError as error:
        raise refuse_checkpoint(what, f"a mask of the trained weights: {error.expected}", error.got) from None
    if checkpoint.codec_state.get(MASK_VALUES) != mask.value_count:
        raise refuse_checkpoint(what, f"a mask over {mask.value_count:,} values", "one over another number of them")
    count = rules.count_of(mask.value_count)
    if mask.chosen_count < count or (rules.groups == "values" and mask.chosen_count > count):
        raise refuse_checkpoint(what, f"a mask of {count:,} values", f"{mask.chosen_count:,}")
    return mask


def _shapes_of_shared(settings: HorizontalSettings, control: Shapes) -> Shapes:
    """The shapes of a checkpoint's entries about the parties' own states, in such a job."""
    if not settings.training.keeps_own_state:
        return {}
    rounds: Shapes = {f"{LAST_ROUND}{party}": () for party in settings.parties}
    return {**rounds, **control, **({ROW_COUNT: ()} if control else {})}


def _shapes_of_seen(settings: HorizontalSettings, weights: Shapes) -> Shapes:
    if not settings.training.kept.sees_sums:
        return {}
    return {f"{SEEN}{name}": shape for name, shape in weights.items()}


def _check_shared(what: str, codec_state: Mapping[str, npt.NDArray[Any]], rounds_done: int) -> None:
    for name, value in codec_state.items():
        if name.startswith(LAST_ROUND) and value not in range(rounds_done + 1):
            raise refuse_checkpoint(what, f"{name}, a round up to {rounds_done}", "another number")
        if name.startswith(SEEN) and (value < 0).any():
            raise refuse_checkpoint(what, f"{name}, magnitudes of sums", "numbers below 0")
        if name == ROW_COUNT and not (value >= 1 and value == np.floor(value)):
            raise refuse_checkpoint(what, f"{name}, a number of rows", "another number")


def _check_edges(what: str, edges: npt.NDArray[Any]) -> None:
    in_range = (edges >= 0).all() and (edges <= PLACE_COUNT).all()
    if not (in_range and (edges == np.floor(edges)).all() and (np.diff(edges, axis=1) >= 0).all()):
        raise refuse_checkpoint(what, f"rising whole numbers up to {PLACE_COUNT} in {VALIDATION_EDGES}", "others")


def _check_losses(what: str, checkpoint: Checkpoint, least: float, most: float) -> None:
    history, count = checkpoint.metrics_history, checkpoint.rounds_done
    if len(history) != count:
        raise refuse_checkpoint(what, f"one loss for each of {count} rounds", f"{len(history)} entries")
    if not all("loss" in entry and least <= entry["loss"] <= most for entry in history):
        raise refuse_checkpoint(what, f"a loss from {least:g} to {most:g} for each round", "something else")


def _check_optimiser_state(
    what: str, state: Mapping[str, npt.NDArray[Any]], first: Mapping[str, npt.NDArray[Any]]
) -> None:
    _check_arrays(what, "optimiser_state", state, shapes_of(first))
    for name, values in state.items():
        is_counted = name == "step_count" or name in _NOT_NEGATIVE or name.startswith(_SQUARES)
        is_divisor = name in _ABOVE_ZERO and (values <= 0).any()
        if is_divisor or (is_counted and (values < 0).any()) or (name in _POWERS and not 0 <= values <= 1):
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
