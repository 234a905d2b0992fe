"""The values of a set of coordinates, tensor by tensor, and tensors in which they are put back."""

from __future__ import annotations

from hekat.privacy.mask import Mask
from hekat.protocol.secure_sum.streamed_tensor import Tensors


def take_kept(mask: Mask, tensors: Tensors) -> Tensors:
    """The chosen values of each tensor of the mask, in one row; a tensor that the mask does not have as it is."""
    return {
        name: values.reshape(-1)[mask.chosen(name)] if name in mask.sizes else values
        for name, values in tensors.items()
    }


def put_kept(mask: Mask, kept: Tensors, into: Tensors) -> Tensors:
    """The tensors `into`, copied, with these values at the chosen places; tensors beside the mask's as `kept` is."""
    whole: Tensors = {}
    for name, values in kept.items():
        if name not in mask.sizes:
            whole[name] = values
            continue
        flat = into[name].reshape(-1).copy()
        flat[mask.chosen(name)] = values
        whole[name] = flat.reshape(into[name].shape)
    return whole
