"""A role's result as a file, result.json, for the launcher that started the role's process and makes the summary."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from hekat.errors import StateError
from hekat.state.file_format import FileFormat

T = TypeVar("T")

RESULT_FILE = "result.json"
RESULT_FORMAT = FileFormat("role result", ("0.3.0",))


def encode_result(result: Any, protocol: str) -> bytes:
    """The result, a dataclass of plain data, as JSON; floats come back to the bit."""
    content = {"format": RESULT_FORMAT.newest, "protocol": protocol, "result": asdict(result)}
    return json.dumps(content, indent=1, allow_nan=False).encode()


def decode_result(data: bytes, kind: type[T], protocol: str, where: str) -> T:
    """The result of class `kind` that `encode_result` wrote. Raises StateError for anything else."""
    try:
        content = json.loads(data)
        RESULT_FORMAT.check(content["format"], where, StateError)
        if content["protocol"] != protocol:
            raise ValueError("another protocol")
        result: T = _decode(content["result"], kind)
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError) as error:
        if isinstance(error, StateError):
            raise
        raise StateError(
            f"{where} is damaged or was not written by Hekat",
            expected=f"the result of a role of protocol '{protocol}'",
            got="something else",
            cure="run the job again",
        ) from error
    return result


def _decode(value: Any, kind: Any) -> Any:
    """`value`, read from JSON, as an object of type `kind`."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        if value is None:
            return None
        (inner,) = (one for one in arguments if one is not type(None))
        return _decode(value, inner)
    if origin is Literal:
        if value not in arguments:
            raise ValueError("another word")
        return value
    if origin is tuple:
        return tuple(_decode(one, arguments[0]) for one in _of_type(value, list))
    if origin in (dict, Mapping):
        return {str(name): _decode(one, arguments[1]) for name, one in _of_type(value, dict).items()}
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        entries = _of_type(value, dict)
        make: Any = kind
        return make(**{one.name: _decode(entries[one.name], hints[one.name]) for one in fields(kind)})
    if kind is float and type(value) is int:
        return value  # a count among metrics stays one
    return _of_type(value, kind)


def _of_type(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise TypeError(f"expected {kind.__name__}")
    return value
