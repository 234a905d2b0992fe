"""Which tensors of a module hold a row for each token, so that what moved in them lists the tokens of a text."""

from __future__ import annotations

from typing import Any

from hekat.torch_library import import_torch

LORA_TABLE = "lora_embedding_"
"""In the names of the two factors that LoRA trains beside a table of embeddings, as peft names them."""
_WRAPPED = "base_layer"


def embeddings_of(module: Any) -> frozenset[str]:
    """The names of a torch module's tables of embeddings, and of all that adapters train in their place.

    Args:
        module: a torch.nn.Module. Its layers `Embedding` and `EmbeddingBag` are found, and layers that wrap one as
            their `base_layer`, as peft's do; a table that a module looks up by itself is not.

    Returns:
        Every name of each such parameter, under a second layer that holds it too.

    Examples:
        >>> import torch
        >>> from hekat.privacy.embeddings import embeddings_of
        >>> sorted(embeddings_of(torch.nn.Sequential(torch.nn.Embedding(9, 4), torch.nn.Linear(4, 2))))
        ['0.weight']
    """
    named = list(module.named_parameters(remove_duplicate=False))
    held = {id(one) for layer in module.modules() if _is_table(layer) for one in layer.parameters()}
    held |= {id(one) for name, one in named if LORA_TABLE in name}
    return frozenset(name for name, one in named if id(one) in held)


def _is_table(layer: Any) -> bool:
    torch = import_torch()
    while isinstance(wrapped := getattr(layer, _WRAPPED, None), torch.nn.Module):
        layer = wrapped
    return isinstance(layer, torch.nn.Embedding | torch.nn.EmbeddingBag)
