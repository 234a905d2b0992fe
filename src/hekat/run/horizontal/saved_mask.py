"""The mask that a job which masks a part of every update left in its checkpoint, read for another use than resuming."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path

import numpy as np

from hekat.errors import InputError
from hekat.first_few import first_few
from hekat.privacy import Mask
from hekat.run.horizontal.check_resumable import MASK, MASK_VALUES
from hekat.run.horizontal.training_state_file import CHECKPOINT_FILE
from hekat.state import read_checkpoint

_MOST_SHOWN = 3


def load_saved_mask(path: Path, shapes: Mapping[str, tuple[int, ...]]) -> Mask:
    """The mask in a checkpoint, or in the one of a run's folder.

    Args:
        path: a file, or the folder of a party's run.
        shapes: of the tensors that the job trained, by name.

    Returns:
        The mask of these tensors.

    Raises:
        StateError: nothing is there, or it is damaged.
        InputError: the checkpoint is of other tensors, or of a job that masks whole updates, or its mask is none of
            these tensors.
    """
    file = path / CHECKPOINT_FILE if path.is_dir() else path
    checkpoint = read_checkpoint(file)
    found = {name: values.shape for name, values in checkpoint.parameters.items()}
    other = sorted(name for name, shape in shapes.items() if found.get(name) != tuple(shape))
    if other:
        raise InputError(
            f"{file} is of another model",
            expected=f"the tensors of this one, {first_few(sorted(shapes), _MOST_SHOWN)}",
            got=f"none, or one of another shape, for {first_few(other, _MOST_SHOWN)}",
            cure="name the run that trained this very module",
        )
    if MASK not in checkpoint.codec_state:
        raise InputError(
            f"{file} holds no mask",
            expected="the checkpoint of a job with `masked` below 1",
            got="one of a job that masks every update whole, or has not begun",
            cure="name another run, or say p=1,random for a whole update",
        )
    sizes = {name: prod(shape) for name, shape in shapes.items()}
    bits, count = np.asarray(checkpoint.codec_state[MASK]), checkpoint.codec_state.get(MASK_VALUES)
    if bits.dtype != np.uint8 or bits.ndim != 1 or count != sum(sizes.values()):
        raise InputError(
            f"the mask in {file} is of other tensors",
            expected=f"one over the {sum(sizes.values()):,} values that this model trains",
            got=f"one over {count:,.0f}" if isinstance(count, float) else "none",
            cure="name the run of a job that trains all of them (model.parameters names a part)",
        )
    return Mask(sizes, bits)
