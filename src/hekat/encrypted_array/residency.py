"""Where ciphertexts are: moving them between engines, and what two arrays must have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hekat.array_module import device_name
from hekat.engine.interface import Engine
from hekat.engine.select import get_engine
from hekat.errors import EngineError, KeyRefusedError
from hekat.scheme.paillier import Ciphertexts

if TYPE_CHECKING:
    from hekat.encrypted_array.array_class import EncryptedArray


def engine_of(x: EncryptedArray) -> Engine:
    """The engine that holds the ciphertexts of `x`."""
    return x.ciphertexts.engine


def move(x: EncryptedArray, name: str) -> EncryptedArray:
    """`x` held by the engine called `name`; `x` itself if it is there already."""
    engine = get_engine(name)
    if engine is engine_of(x):
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


def check_together(x: EncryptedArray, y: EncryptedArray) -> None:
    """Raise KeyRefusedError unless both are under one key, EngineError unless one engine holds both."""
    if y.key != x.key:
        raise KeyRefusedError(
            "the arrays are encrypted under different keys",
            expected=f"both under the key {x.key.fingerprint[:8]}",
            got=f"one under {y.key.fingerprint[:8]}",
            cure="encrypt both under one public key",
        )
    if engine_of(y) is not engine_of(x):
        raise EngineError(
            "the arrays are held by different engines",
            expected=f"both in {x.device!r}",
            got=f"one in {y.device!r}",
            cure=f"move one: .to({x.device!r})",
        )
