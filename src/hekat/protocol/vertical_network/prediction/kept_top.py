"""The top of the guest's part of a model, made again for its tensors."""

from __future__ import annotations

from hekat.errors import InputError
from hekat.model.split import DENSE, Top, TopMaker, TopTask
from hekat.protocol.vertical_network.guest_side.top import dense_top
from hekat.protocol.vertical_network.model_part import NetworkPart
from hekat.protocol.vertical_network.own_features import call_maker


def restore_top(part: NetworkPart, make_top: TopMaker | None) -> Top:
    """A top of the kind of `part`'s, before it takes over tensors.

    `make_top` is the guest's own maker, None for Hekat's dense network. Raises InputError where it is missing, or makes
    another kind.
    """
    task, kind = TopTask(part.network.units, part.output_count, learning_rate=1.0, seed=0), part.top_kind
    if make_top is None and kind == DENSE:
        return dense_top(part.network, task)
    top = None if make_top is None else call_maker(f"the top of {part.party}", make_top, task, Top)
    if top is None or top.kind != kind:
        raise InputError(
            f"the part of {part.party} needs its own top",
            expected=f"the function that made its top of kind {kind!r}",
            got="none" if top is None else f"one of kind {top.kind!r}",
            cure="name the same function as in training, or none for a dense network",
        )
    return top
