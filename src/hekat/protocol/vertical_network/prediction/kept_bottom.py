"""The bottom of a part of a model, made again from its tensors."""

from __future__ import annotations

import numpy as np

from hekat.errors import InputError
from hekat.model.split import Bottom, BottomMaker, BottomTask, affine_map, dense_bottom, source_columns
from hekat.protocol.vertical_network.model_part import BOTTOM, NetworkPart, taken
from hekat.protocol.vertical_network.own_features import NO_BOTTOM, call_maker

_FIXED = ("random_features", "principal_components")


def restore_bottom(part: NetworkPart, make_bottom: BottomMaker | None) -> Bottom | None:
    """The bottom of `part`; None where the guest has none.

    `make_bottom` makes a bottom that is none of Hekat's own, such as a PyTorch module. Raises InputError where it is
    needed and missing, and where tensors do not fit.
    """
    kind, tensors = part.bottom_kind, taken(BOTTOM, part.arrays)
    if kind == NO_BOTTOM:
        return None
    if kind in _FIXED:
        return affine_map(kind, tensors)
    trains = part.is_guest or part.host_bottom == "trained"
    shape = part.network
    task = BottomTask(
        np.zeros((0, len(part.columns))),
        part.widths[part.party],
        trains,
        seed=0,
        hidden=shape.bottom_hidden,
        activation=shape.activation,
    )
    makers: dict[str, BottomMaker] = {"dense": dense_bottom, "source": source_columns}
    make = makers.get(kind) or make_bottom
    if make is None:
        raise InputError(
            f"the part of {part.party} needs its own bottom",
            expected=f"the function that made its bottom of kind {kind!r}",
            got="none",
            cure="name the same function as in training",
        )
    bottom = call_maker(f"the bottom of {part.party}", make, task, Bottom)
    if bottom.kind != kind:
        raise InputError(
            f"the part of {part.party} has a bottom of another kind", expected=repr(kind), got=repr(bottom.kind)
        )
    bottom.begin_from(tensors)
    return bottom
