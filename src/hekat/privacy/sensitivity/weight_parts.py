"""The weights of a module in parts that a map takes one after another, so that sums of squares lie there for one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hekat.privacy.sensitivity.linear_layers import LinearLayer

PARTS = 3
"""A part has up to this share of all bytes, or one larger tensor: fewer bytes lie there at a time, and more passes are
made, at most about half as many again, since a pass for late layers ends at them."""


@dataclass(frozen=True, eq=False)
class WeightPart:
    """Some weights by name, and the linear layers among them whose gradients are not made."""

    weights: dict[str, Any]
    layers: tuple[LinearLayer, ...] = ()

    @property
    def others(self) -> dict[str, Any]:
        """The weights whose gradients are made."""
        held = {name for layer in self.layers for name in layer.names}
        return {name: tensor for name, tensor in self.weights.items() if name not in held}

    def held_bytes(self, *, is_exact: bool) -> int:
        """The most bytes of gradients, and under `exact` of squares, beside the sums."""
        sizes = [bytes_of(tensor) for tensor in self.others.values()]
        return max(sizes, default=0) + (sum(sizes) if is_exact else 0)


def in_one_part(weights: dict[str, Any], layers: tuple[LinearLayer, ...] = ()) -> tuple[WeightPart, ...]:
    """All weights together."""
    return (WeightPart(weights, layers),)


def in_parts(weights: dict[str, Any], layers: tuple[LinearLayer, ...]) -> tuple[WeightPart, ...]:
    """The linear layers in the first part, and the weights from the last to the first: modules mostly name them in the
    order of their use. A part of late layers needs no activations of early ones, which have few weights."""
    (whole,) = in_one_part(weights, layers)
    most = sum(map(bytes_of, weights.values())) / PARTS
    groups: list[dict[str, Any]] = [{}]
    room = most
    for name, tensor in reversed(whole.others.items()):
        if groups[-1] and bytes_of(tensor) > room:
            groups.append({})
            room = most
        groups[-1][name] = tensor
        room -= bytes_of(tensor)
    linear = {name: weights[name] for layer in layers for name in layer.names}
    return (WeightPart({**linear, **groups[0]}, layers), *map(WeightPart, groups[1:]))


def is_plain(parts: tuple[WeightPart, ...]) -> bool:
    """Whether all gradients are made, and none apart from the others."""
    return len(parts) == 1 and not parts[0].layers


def bytes_of(tensor: Any) -> int:
    """The bytes of a tensor's values."""
    return int(tensor.numel() * tensor.element_size())
