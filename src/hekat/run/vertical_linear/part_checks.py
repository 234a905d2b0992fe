"""What one part of a vertical model must be to predict with, and what all parts of one model have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hekat.engine.limbs import LIMB_BITS
from hekat.protocol.vertical_linear.mixing import MIXING
from hekat.protocol.vertical_linear.model_part import CALIBRATION, ModelPart
from hekat.protocol.vertical_linear.objective import INTERCEPT, WEIGHTS
from hekat.protocol.vertical_linear.settings import FORMS, TASKS
from hekat.protocol.vertical_linear.shared_weights.many_parties.quiet_training import NOISE_KEY, NOISE_KEY_BITS
from hekat.protocol.vertical_linear.shared_weights.weights import MODEL_INTERCEPT, MODEL_WEIGHTS
from hekat.protocol.vertical_linear.training_settings import FixedPoint
from hekat.run.model_file_checks import MOST_PARAMETER, are_parameters, check_names
from hekat.run.vertical.part_files import check_texts
from hekat.scheme.paillier.keys.parameters import MAX_KEY_BITS

TEXTS = ("form", "task")
COUNTS = ("feature_bits", "value_bits", "key_bits")
NUMBERS = ("limit_spreads", "target_mean", "target_spread")
_OWN_ARRAYS = {"arbiter": {WEIGHTS}, "shared_weights": {MODEL_WEIGHTS, MODEL_INTERCEPT}}
# What the job said to all parties.
_ALIKE = ("guest", "hosts", "form", "task", "classes", *COUNTS, "share_holders", "label_privacy")


def check_described(described: Mapping[str, Any]) -> None:
    """Raise ValueError for what a part's file says beside its arrays, where that has another type or cannot be."""
    check_texts([described[name] for name in TEXTS])
    check_names("holders", described["share_holders"])
    if not all(type(described[name]) is int for name in COUNTS):
        raise ValueError("bits that are no whole numbers")
    if not all(type(described[name]) in (int, float) and _is_number(described[name]) for name in NUMBERS):
        raise ValueError("numbers beyond reason")


def _is_number(value: float) -> bool:
    return bool(abs(value) <= MOST_PARAMETER)  # false for NaN


def check_part(part: ModelPart) -> None:
    """Raise ValueError, or JobError for bits out of their range, for a part that nobody can predict with."""
    if part.form not in FORMS or part.task not in TASKS:
        raise ValueError("a part of no form or task")
    if (part.task == "linear") != (part.classes is None):
        raise ValueError("a task of other classes")
    FixedPoint(part.feature_bits, part.value_bits)
    if not 0 <= part.key_bits <= MAX_KEY_BITS:
        raise ValueError("bits of a key that none has")
    shape = (len(part.columns),)
    if not (part.means.shape == part.spreads.shape == shape):
        raise ValueError("a standardiser of other columns")
    if not (are_parameters(part.means) and are_parameters(part.spreads)):
        raise ValueError("a standardiser beyond reason, or no numbers")
    if not ((part.spreads >= 1 / MOST_PARAMETER).all() and part.target_spread > 0):
        raise ValueError("a spread that is none")
    in_order = tuple(name for name in part.parties if name in part.share_holders)
    if part.share_holders and (len(in_order) != 2 or in_order != part.share_holders):
        raise ValueError("holders that are not two of the parties")
    if len(part.hosts) > 1 and part.form == "shared_weights" and not part.share_holders:
        raise ValueError("no holders among many parties")
    if part.limit_spreads < 0:
        raise ValueError("a limit that is none")
    _check_arrays(part)


def _check_arrays(part: ModelPart) -> None:
    size, count = len(part.columns), part.target_count
    mixing, calibration = part.arrays.get(MIXING), part.arrays.get(CALIBRATION)
    if mixing is not None and not (mixing.shape in ((size,), (size + 1, size)) and are_parameters(mixing)):
        raise ValueError("a mixing of other columns")
    if calibration is not None and not are_parameters(calibration):
        raise ValueError("a calibration that is none")
    if calibration is not None and calibration.shape not in ((count, 2), (count, count + 1)):
        raise ValueError("a calibration of other classes")
    own = {name: values for name, values in part.arrays.items() if name not in (MIXING, CALIBRATION)}
    if part.form == "shared_weights" and part.party not in part.holders:
        key = own.get(NOISE_KEY)
        if key is None or len(own) > 1 or key.dtype != np.uint64 or key.shape != (NOISE_KEY_BITS // LIMB_BITS,):
            raise ValueError("no key of noise, or other arrays")
        return
    needed = _OWN_ARRAYS[part.form] | ({INTERCEPT} if part.form == "arbiter" and part.party == part.guest else set())
    if needed != own.keys():
        raise ValueError("other arrays")
    if part.form == "arbiter":
        if not all(map(are_parameters, own.values())):
            raise ValueError("weights beyond reason, or no numbers")
        if own[WEIGHTS].shape != (size, count):
            raise ValueError("weights of other columns")
        if INTERCEPT in needed and own[INTERCEPT].shape != (count,):
            raise ValueError("another intercept")
        return
    if not all(values.dtype == np.uint64 for values in own.values()):
        raise ValueError("shares of another kind")
    weights, intercept = own[MODEL_WEIGHTS], own[MODEL_INTERCEPT]
    if weights.ndim != 3 or weights.shape[1:] != (count, 2) or intercept.shape != (count, 2) or len(weights) < size:
        raise ValueError("shares of another shape")


def unlike(first: ModelPart, other: ModelPart) -> list[str]:
    """The names of what two parts of one model cannot differ in, and do."""
    return [name for name in _ALIKE if getattr(first, name) != getattr(other, name)]
