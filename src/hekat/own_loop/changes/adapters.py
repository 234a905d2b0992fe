"""A loop that trains adapters (LoRA) beside frozen weights: what is checked and agreed on once, before its rounds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from hekat.errors import InputError
from hekat.first_few import first_few
from hekat.own_loop.held_tensor import HeldTensor
from hekat.own_loop.party import Party
from hekat.privacy.embeddings import LORA_TABLE, embeddings_of

_LABEL = "the frozen weights"
# Of a layer A is drawn and B starts at zero; of a table of embeddings it is the other way round.
_DRAWN_FACTORS = ("lora_A", f"{LORA_TABLE}B")
_MOST_SHOWN = 3
_PIECE_VALUES = 1 << 20


def start_adapters(
    party: Party, module: Any, *, freeze_first_factors: bool = False, trains_embeddings: bool = False
) -> int:
    """Begin a loop in which all parties train the same few weights of a module, and `party.aggregate(module)` sends
    these alone.

    For a module whose other weights are frozen, as `peft.get_peft_model` makes it: the frozen ones never leave, and
    parties compare a digest of them, once. The others, adapters and head, are where the loop starts from.

    Args:
        party: the party whose code this is.
        module: a torch module; its parameters with `requires_grad` are what is trained.
        freeze_first_factors: whether LoRA's A stays as it is, and only B is trained (FFA-LoRA): half the bytes. Then
            the mean of all parties' B is the mean of their products B A, which it is not where A moves too. Beside a
            table of embeddings B stays, since there A is the factor that starts at zero.
        trains_embeddings: whether tables of embeddings may be trained. A row of them moves only where a party has its
            token: the sum of all parties' changes lists the words of them all.

    Returns:
        How many values are trained, and sent in a round.

    Raises:
        InputError: before anything leaves: nothing is trained or nothing is frozen, no first factors to freeze, an
            embedding that is trained.
        ProtocolError: at every party: frozen weights or first adapters differ; it says who.

    Examples:
        >>> import torch
        >>> def play(party):
        ...     torch.manual_seed(0)
        ...     module = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.Linear(4, 2))
        ...     module[0].requires_grad_(False)
        ...     sent = hekat.start_adapters(party, module)
        ...     with torch.no_grad():
        ...         module[1].bias += {"north": 0.0, "lake": 3.0, "county": 0.0}[party.name]
        ...     before = module[1].bias.clone() - {"north": 0.0, "lake": 3.0, "county": 0.0}[party.name]
        ...     party.aggregate(module, weight=1)
        ...     return sent, (module[1].bias - before).detach().numpy().round(2)
        >>> run = hekat.federate(play, ["north", "lake", "county"], weight_max=1)
        >>> run.results["county"]
        (10, array([1., 1.], dtype=float32))

    Source: Hu et al. 2022 (LoRA); Sun et al. 2024 (FFA-LoRA).
    """
    if freeze_first_factors:
        _freeze_first_factors(module)
    trained = {name: one for name, one in module.named_parameters() if one.requires_grad}
    frozen = {name: one for name, one in module.named_parameters() if not one.requires_grad}
    if not trained or not frozen:
        raise InputError(
            f"party {party.name}: no adapters beside frozen weights",
            expected="a module with some parameters that are trained, and others that are frozen",
            got="one that is frozen whole" if frozen else "one that is trained whole",
            cure="wrap it with peft.get_peft_model(module, LoraConfig(...)), or use party.start_from(module)",
        )
    if not trains_embeddings:
        _check_embeddings(party, trained, module)
    party.check_same(_LABEL, _digest_of(frozen, party))
    party.start_from(module)
    return sum(one.numel() for one in trained.values())


def _freeze_first_factors(module: Any) -> None:
    found = [one for name, one in module.named_parameters() if any(drawn in name for drawn in _DRAWN_FACTORS)]
    if not found:
        raise InputError(
            "there are no first factors to freeze",
            expected=f"parameters of LoRA, with {' or '.join(_DRAWN_FACTORS)} in their names",
            got="none",
            cure="wrap the module with peft.get_peft_model first, or leave freeze_first_factors out",
        )
    for one in found:
        one.requires_grad_(False)


def _check_embeddings(party: Party, trained: dict[str, Any], module: Any) -> None:
    found = sorted(embeddings_of(module) & trained.keys())
    if found:
        raise InputError(
            f"party {party.name}: tables of embeddings would be trained",
            expected="frozen ones: a row that moves says that a party has its token",
            got=first_few(found, _MOST_SHOWN),
            cure="freeze them with requires_grad_(False), or pass trains_embeddings=True",
        )


def _digest_of(tensors: dict[str, Any], party: Party) -> bytes:
    """SHA-256 over names, forms and values, in the order of the names."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        held = HeldTensor(name, tensors[name], party.name)
        header = f"{name}|{held.dtype_name}|{held.shape}|".encode()
        digest.update(len(header).to_bytes(4, "little") + header)
        for piece in _pieces_of(held):
            digest.update(piece.data)
    return digest.digest()


def _pieces_of(held: HeldTensor) -> Iterator[Any]:
    values = held.open_values()
    for start in range(0, held.size, _PIECE_VALUES):
        stored = values.read_stored(start, min(start + _PIECE_VALUES, held.size))
        yield np.ascontiguousarray(stored, dtype=stored.dtype.newbyteorder("<")).view(np.uint8)
