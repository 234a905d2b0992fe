"""What a courier asks of the party process, and what it answers: one frame each over a Unix socket.

A header in MessagePack says what is asked; the payload is MessagePack too, of parcels and arrays as bytes. Both ends
check all of it: the courier runs in the engine's process, with code that came from the engine's server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, prod
from typing import Any

import msgpack
import numpy as np

from hekat.digest_text import is_digest
from hekat.errors import InputError, WireError
from hekat.launch.flower.desk import Arrays
from hekat.launch.flower.legs import EVALUATE, TRAIN
from hekat.launch.flower.shelf import Addressed
from hekat.launch.frames import Frame

EXCHANGE, UPDATE, METRICS, GIVE_UP = "exchange", "update", "metrics", "give_up"
_ASKED = (EXCHANGE, UPDATE, METRICS, GIVE_UP)
MAX_METRICS = 256
MAX_ARRAYS = 100_000
MOST_CHARACTERS = 256
MOST_LOST = 1000
# NumPy takes thousands of texts for a dtype, and reads some of them as Python would.
_DTYPES = {
    text: np.dtype(text)
    for text in ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8")
}
_MOST_ROUNDS = 1 << 32
_LEARNS = "server_learns_model"


@dataclass(frozen=True)
class Call:
    """One question. `job` is the digest that the engine's server names, hex. `round` is of an update or of metrics,
    whose kind is `kind`; `kind` of "give_up" is what the engine's code raised. `start` arrays come with an exchange.

    `evaluates`: the loop's last mean is evaluated, so that the process stays for it. `terms`: of an update, a digest of
    what the server said for its round, hex. `lost` are roles that the server says it reaches no more.
    """

    asks: str
    run_id: str
    job: str
    round: int = 0
    weight: int = 0
    kind: str = ""
    evaluates: bool = False
    terms: str = ""
    lost: Sequence[str] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    parcels: Sequence[bytes] = field(default=(), repr=False)
    arrays: Arrays | None = field(default=None, repr=False)

    def to_frame(self) -> tuple[dict[str, Any], bytes]:
        header = {
            "asks": self.asks,
            "run_id": self.run_id,
            "job": self.job,
            "round": self.round,
            "weight": self.weight,
            "kind": self.kind,
            "evaluates": self.evaluates,
            "terms": self.terms,
            "lost": list(self.lost),
            "metrics": dict(self.metrics),
        }
        return header, msgpack.packb([list(self.parcels), _pack_arrays(self.arrays)])

    @classmethod
    def from_frame(cls, frame: Frame) -> Call:
        """What `to_frame` gave. Raises WireError for anything else."""
        asks, run_id, job, kind, terms = (
            _take(frame, name, str) for name in ("asks", "run_id", "job", "kind", "terms")
        )
        round_number, weight = _take(frame, "round", int), _take(frame, "weight", int)
        metrics, lost = _take(frame, "metrics", dict), _take(frame, "lost", list)
        if asks not in _ASKED or max(map(len, (run_id, job))) > MOST_CHARACTERS or not is_kind(kind):
            raise _malformed("call")
        if len(lost) > MOST_LOST or not all(isinstance(name, str) for name in lost):
            raise _malformed("call")
        if not is_digest(terms) if asks == UPDATE else terms:
            raise _malformed("call")
        if not 0 <= round_number < _MOST_ROUNDS or (asks == METRICS and kind not in (TRAIN, EVALUATE)):
            raise _malformed("call")
        if len(metrics) > MAX_METRICS or not all(_is_metric(name, value) for name, value in metrics.items()):
            raise _malformed("call")
        parcels, arrays = _unpack(frame.payload)
        if not all(isinstance(parcel, bytes) for parcel in parcels):
            raise _malformed("call")
        evaluates = _take(frame, "evaluates", bool)
        return cls(asks, run_id, job, round_number, weight, kind, evaluates, terms, lost, metrics, parcels, arrays)


@dataclass(frozen=True)
class Answer:
    """How the role stands. `refusal` says why nothing was done. `wanted` is the round whose update the loop waits for,
    `opened` the last one whose mean stands, `kind` the error that the role ended by, or the refusal's.

    `model` comes with every exchange once there is one: the mean of round `opened`, or the start.
    """

    party: str
    wanted: int = 0
    opened: int = 0
    is_over: bool = False
    has_start: bool = False
    server_learns_model: bool = False
    kind: str = ""
    refusal: str = ""
    parcels: Sequence[Addressed] = field(default=(), repr=False)
    model: Arrays | None = field(default=None, repr=False)

    def to_frame(self) -> tuple[dict[str, Any], bytes]:
        names = ("party", "wanted", "opened", "is_over", "has_start", _LEARNS, "kind", "refusal")
        header = {name: getattr(self, name) for name in names}
        return header, msgpack.packb([[list(one) for one in self.parcels], _pack_arrays(self.model)])

    @classmethod
    def from_frame(cls, frame: Frame) -> Answer:
        """What `to_frame` gave. Raises WireError for anything else."""
        party, kind, refusal = (_take(frame, name, str) for name in ("party", "kind", "refusal"))
        is_over, has_start, learns = (_take(frame, name, bool) for name in ("is_over", "has_start", _LEARNS))
        parcels, model = _unpack(frame.payload)
        addressed = []
        for entry in parcels:
            if not (isinstance(entry, list) and list(map(type, entry)) == [str, bytes]):
                raise _malformed("answer")
            addressed.append((entry[0], entry[1]))
        wanted, opened = _take(frame, "wanted", int), _take(frame, "opened", int)
        if not (0 <= wanted < _MOST_ROUNDS and 0 <= opened < _MOST_ROUNDS and is_kind(kind)):
            raise _malformed("answer")
        return cls(party, wanted, opened, is_over, has_start, learns, kind, refusal, addressed, model)


def is_kind(text: object) -> bool:
    """Whether `text` may name an error or a piece of work: it is shown, and a line break or a colour is none of it."""
    return isinstance(text, str) and len(text) <= MOST_CHARACTERS and (text == "" or text.isidentifier())


def check_arrays(arrays: Arrays) -> None:
    """Raise InputError for an array of another dtype than numbers of up to 64 bits."""
    for name, values in arrays.items():
        if _stored_dtype(values).str not in _DTYPES:
            raise InputError(
                f"the array {name!r} cannot be handed over",
                expected="booleans, integers or floats of up to 64 bits",
                got=str(values.dtype)[:64],
                cure="have the app return arrays of such numbers",
            )


def _stored_dtype(values: Any) -> np.dtype[Any]:
    dtype: np.dtype[Any] = values.dtype.newbyteorder("<")
    return dtype


def _pack_arrays(arrays: Arrays | None) -> list[list[Any]] | None:
    if arrays is None:
        return None
    check_arrays(arrays)
    return [
        [name, (dtype := _stored_dtype(values)).str, list(values.shape), np.ascontiguousarray(values, dtype).tobytes()]
        for name, values in arrays.items()
    ]


def _unpack(payload: bytes) -> tuple[list[Any], dict[str, Any] | None]:
    try:
        parcels, packed = msgpack.unpackb(payload, raw=False)
    except (ValueError, TypeError, msgpack.UnpackException):
        raise _malformed("payload") from None
    if not isinstance(parcels, list) or not (packed is None or isinstance(packed, list)):
        raise _malformed("payload")
    return parcels, None if packed is None else _unpack_arrays(packed)


def _unpack_arrays(packed: list[Any]) -> dict[str, Any]:
    if len(packed) > MAX_ARRAYS:
        raise _malformed("payload")
    arrays: dict[str, Any] = {}
    for entry in packed:
        if not (isinstance(entry, list) and list(map(type, entry)) == [str, str, list, bytes]):
            raise _malformed("payload")
        name, kind, shape, data = entry
        if kind not in _DTYPES or name in arrays or not all(type(size) is int and size >= 0 for size in shape):
            raise _malformed("payload")
        arrays[name] = _array_of(_DTYPES[kind], shape, data)
    return arrays


def _array_of(dtype: np.dtype[Any], shape: list[int], data: bytes) -> Any:
    if prod(shape) * dtype.itemsize != len(data):
        raise _malformed("payload")
    try:
        # Copied: what comes of bytes could not be written to.
        return np.ndarray(tuple(shape), dtype, data).copy()
    except (ValueError, OverflowError):  # more dimensions, or larger ones, than an array has
        raise _malformed("payload") from None


def _take(frame: Frame, name: str, kind: type) -> Any:
    value = frame.header.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise _malformed("header")
    return value


def _is_metric(name: object, value: object) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(name, str) and len(name) <= MOST_CHARACTERS and is_number and isfinite(float(value))  # type: ignore[arg-type]


def _malformed(what: str) -> WireError:
    return WireError(
        f"malformed {what} between a courier and its party process", expected="this release's", got="other"
    )
