"""The identity of a model, which shows that parties train the same one: its code, its tensors, its start."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hekat.errors import InputError
from hekat.first_few import first_few
from hekat.model import Model, Parameters

_MOST_NAMES_SHOWN = 5


@dataclass(frozen=True)
class ModelIdentity:
    """`code` is the digest of the site's code, empty for a model of Hekat's own; `tensors` one "name (shape)" each;
    `start` the digest of the first parameters. All are texts, compared with another party's."""

    code: str
    tensors: tuple[str, ...]
    start: str


def identify_model(model: Model, code: str, seed: int) -> ModelIdentity:
    """The identity of `model` as it begins from `seed`. Raises InputError where it cannot begin."""
    shapes = model.parameter_shapes
    return ModelIdentity(code, tuple(f"{name} {shape}" for name, shape in shapes.items()), _digest(model.init(seed)))


def check_same_model(name: str, identities: Mapping[str, ModelIdentity]) -> None:
    """Raise InputError that names two parties with different models: other code, other tensors, another start."""
    first, *others = identities
    mine = identities[first]
    for party in others:
        theirs = identities[party]
        difference = _describe_difference(mine.tensors, theirs.tensors)
        if theirs.code != mine.code:
            raise InputError(
                f"parties {first} and {party} have different code for model {name}",
                expected=f"{_name_code(mine.code)}, as at {first}",
                got=f"{_name_code(theirs.code)} at {party}" + (f"; its tensors: {difference}" if difference else ""),
                cure="copy one file, byte for byte, to every party",
            )
        if difference:
            raise InputError(
                f"parties {first} and {party} have different tensors in model {name}",
                expected=f"tensors as at {first}",
                got=f"at {party}: {difference}",
                cure="give every party the same arguments for the model, and the same job",
            )
        if theirs.start != mine.start:
            raise InputError(
                f"parties {first} and {party} begin with different values in model {name}",
                expected=f"the first parameters of {first}",
                got="others, from the same code",
                cure="use the same release of PyTorch, the same arguments, and the same files where the code reads any",
            )


def _name_code(digest: str) -> str:
    return f"a file of SHA-256 {digest[:16]}..." if digest else "Hekat's own model"


def _describe_difference(mine: tuple[str, ...], theirs: tuple[str, ...]) -> str:
    """In words for an error text; empty where both are the same."""
    lacking = [tensor for tensor in mine if tensor not in theirs]
    strange = [tensor for tensor in theirs if tensor not in mine]
    parts = [f"no {_some(lacking)}"] if lacking else []
    parts += [_some(strange)] if strange else []
    return ", but ".join(parts) or ("" if mine == theirs else "the same in another order")


def _some(tensors: list[str]) -> str:
    return first_few(tensors, _MOST_NAMES_SHOWN)


def _digest(parameters: Parameters) -> str:
    """SHA-256 (hex) over names, shapes and values."""
    digest = hashlib.sha256(b"hekat first parameters 1")
    for name, values in parameters.items():
        header = f"{name} {values.shape}".encode()
        digest.update(len(header).to_bytes(8, "little") + header)
        digest.update(np.ascontiguousarray(values, dtype="<f8").data)
    return digest.hexdigest()
