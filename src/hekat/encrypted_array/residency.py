"""Where ciphertexts are: moving them between engines, and what two arrays must have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hekat.array_module import device_name
from hekat.encrypted_array.values import Array, EncryptedValues
from hekat.engine.interface import Engine
from hekat.engine.select import get_engine
from hekat.errors import EngineError, KeyRefusedError
from hekat.scheme.paillier import Ciphertexts


def move(x: Array, name: str) -> Array:
    """`x` held by the engine called `name`; `x` itself if it is there already."""
    engine = get_engine(name)
    if engine is x.engine:
        return x
    return replace(x, ciphertexts=Ciphertexts.from_limbs(x.key, x.ciphertexts.to_limbs(), engine))


def check_reachable(values: Any, engine: Engine) -> None:
    """Raise EngineError for plain values on a GPU other than the one that `engine` works on."""
    home = device_name(values)
    if home is not None and home != engine.name:
        raise EngineError(
            "plain values lie on a device that this engine does not reach",
            expected=f"values where engine {engine.name!r} works",
            got=f"values on {home!r}",
            cure=f"use engine {home!r}, or copy them to the host first: tensor.cpu(), or array.get()",
        )


def check_together(x: EncryptedValues, y: EncryptedValues) -> None:
    """Raise KeyRefusedError unless both are under one key, EngineError unless one engine holds both."""
    if y.key != x.key:
        raise KeyRefusedError(
            "the arrays are encrypted under different keys",
            expected=f"both under the key {x.key.fingerprint[:8]}",
            got=f"one under {y.key.fingerprint[:8]}",
            cure="encrypt both under one public key",
        )
    if y.engine is not x.engine:
        raise EngineError(
            "the arrays are held by different engines",
            expected=f"both in {x.device!r}",
            got=f"one in {y.device!r}",
            cure=f"move one: .to({x.device!r})",
        )
