"""What a part of a split network must be to predict with: tensors and shares that fit each other."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

import numpy as np

from hekat.model.split import DENSE, MODULE
from hekat.protocol.vertical_network.model_part import (
    BOTTOM,
    INTERACTIVE,
    MEANS,
    SEALED_SHARE,
    SHARE,
    SPREADS,
    TARGET_MEAN,
    TARGET_SPREAD,
    TOP,
    NetworkPart,
    taken,
    usual_top_kind,
)
from hekat.protocol.vertical_network.network_settings import MOST_WIDTH
from hekat.protocol.vertical_network.settings import FORMS, HOST_BOTTOMS, PROTECTIONS, SEALED, TASKS
from hekat.run.model_file_checks import MOST_PARAMETER, are_parameters
from hekat.run.vertical.part_files import check_texts

TEXTS: Final = ("form", "task", "host_bottom", "protection", "bottom_kind", "top_kind")
_LIMBS: Final = 2
"""Of a share mod 2^128."""


def check_described(described: Mapping[str, Any]) -> None:
    """Raise ValueError for what a part's file says beside its arrays, where that has another type or cannot be."""
    check_texts([described[name] for name in TEXTS])
    epochs, limit, widths = described["epochs"], described["limit_spreads"], described["widths"]
    if type(epochs) is not int or epochs < 0:
        raise ValueError("a number of epochs that is none")
    if type(limit) not in (int, float) or not 0 <= limit <= MOST_PARAMETER:
        raise ValueError("a limit that is none")
    parties = {described["guest"], *described["hosts"]}
    if not isinstance(widths, dict) or not set(widths) <= parties:
        raise ValueError("widths of other parties")
    if not all(type(width) is int and 0 <= width <= MOST_WIDTH for width in widths.values()):
        raise ValueError("widths that are none")
    if not isinstance(described["network"], dict):
        raise ValueError("a network without a shape")
    if type(described["labels_accepted"]) is not bool:
        raise ValueError("a waiver of labels that is none")


def check_network_part(part: NetworkPart) -> None:
    """Raise ValueError for a part that nobody can predict with."""
    if part.task not in TASKS or part.host_bottom not in HOST_BOTTOMS or part.protection not in PROTECTIONS:
        raise ValueError("a part of no task, bottom or protection")
    if part.form not in FORMS:
        raise ValueError("a part of no form")
    if (part.task == "regression") != (part.classes is None):
        raise ValueError("a task of other classes")
    usual_top = usual_top_kind(part.form, is_guest=part.is_guest)
    if part.top_kind not in (usual_top, MODULE if usual_top == DENSE else usual_top):
        raise ValueError("a top of no kind, or of a party that has none")
    for name, least in ((MEANS, -MOST_PARAMETER), (SPREADS, 1 / MOST_PARAMETER)):
        values = part.arrays.get(name)
        if values is None or values.shape != (len(part.columns),) or not are_parameters(values):
            raise ValueError("a standardiser of other columns, or no numbers")
        if not (values >= least).all():
            raise ValueError("a spread that is none")
    if part.form == SEALED:
        _check_sealed(part)
        return
    _check_shares(part)
    own = [values for name, values in part.arrays.items() if not name.startswith(SHARE)]
    if not all(map(are_parameters, own)):
        raise ValueError("tensors beyond reason, or no numbers")
    _check_layers(part)


def _check_layers(part: NetworkPart) -> None:
    """Raise ValueError for tensors of other layers than the part says; nothing is made of the size that it says."""
    width, shape = part.widths.get(part.party, 0), part.network
    needed = _bottom_shapes(part, len(part.columns), width)
    found = {name: values.shape for name, values in taken(BOTTOM, part.arrays).items()}
    if needed is not None and found != needed:
        raise ValueError("a bottom of another shape")
    if not part.is_guest:
        return
    if any(part.arrays[name].shape != () for name in (TARGET_MEAN, TARGET_SPREAD)):
        raise ValueError("a mean or spread of numbers that is none")
    layers = {INTERACTIVE: {"weight": (width, shape.units), "bias": (shape.units,)}}
    # The tensors of a site's own top are checked by its code.
    if part.top_kind == DENSE:
        layers[TOP] = _dense_shapes((shape.units, *shape.top_hidden, part.output_count))
    for prefix, shapes in layers.items():
        if {name: values.shape for name, values in taken(prefix, part.arrays).items()} != shapes:
            raise ValueError("layers of another shape")


def _bottom_shapes(part: NetworkPart, columns: int, width: int) -> dict[str, tuple[int, ...]] | None:
    """The tensors of a bottom of Hekat's own; None for a site's, which its code checks."""
    match part.bottom_kind:
        case "dense":
            return _dense_shapes((columns, *part.network.bottom_hidden, width))
        case "random_features" | "principal_components":
            return {"weight": (columns, width), "bias": (width,)}
        case "source" | "none" if width == (columns if part.bottom_kind == "source" else 0):
            return {}
        case "module":
            return None
    raise ValueError("a bottom of no kind, or of another width")


def _dense_shapes(sizes: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {}
    for number, (inputs, outputs) in enumerate(pairwise(sizes), 1):
        shapes[f"layer_{number}.weight"], shapes[f"layer_{number}.bias"] = (inputs, outputs), (outputs,)
    return shapes


def _check_sealed(part: NetworkPart) -> None:
    """Raise ValueError for shares of weights of other columns than all, the guest's ones among them."""
    own = part.widths.get(part.party, 0) - part.is_guest
    if len(part.hosts) != 1 or part.task != "binary" or part.host_bottom != "source" or own != len(part.columns):
        raise ValueError("a sealed network of other parties, task or columns")
    if min(part.widths.get(name, 0) for name in part.parties) < 1:
        raise ValueError("a party without columns")
    if part.bottom_kind != ("source" if part.columns else "none"):
        raise ValueError("a bottom of no kind")
    if set(part.arrays) != {MEANS, SPREADS, SEALED_SHARE}:
        raise ValueError("other arrays than a sealed network's")
    shape, values = (sum(part.widths.values()), part.network.units + 1, _LIMBS), part.arrays[SEALED_SHARE]
    if values.dtype != np.uint64 or values.shape != shape:
        raise ValueError("shares of another kind or shape")


def _check_shares(part: NetworkPart) -> None:
    """A guest has a share of each host's weights, a host of its own."""
    shares = taken(SHARE, part.arrays)
    hosts = part.hosts if part.is_guest else (part.party,)
    if set(shares) != set(hosts):
        raise ValueError("shares of other hosts")
    for host, values in shares.items():
        shape = (part.widths.get(host), part.network.units, _LIMBS)
        if values.dtype != np.uint64 or values.shape != shape:
            raise ValueError("shares of another kind or shape")
