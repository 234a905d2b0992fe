"""Frames between processes of one machine: a small MessagePack header, then the payload as it is.

    4 bytes   length of the header, little-endian
    8 bytes   length of the payload, little-endian
    header    a MessagePack map with text keys
    payload   bytes, empty for most calls

Roles and their relay speak by them, whose payloads are sealed end to end; and the couriers and the party process of a
site of Flower, whose payloads are not.
"""

from __future__ import annotations

import math
import socket
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgpack

from hekat.errors import ChannelError

MAX_HEADER_BYTES = 1 << 20
MAX_PAYLOAD_BYTES = 1 << 34
_LENGTHS = struct.Struct("<IQ")
ALIVE = {"alive": True}
"""The header of what a role says between its calls, which asks for nothing: that its process goes on."""


class ConnectionEndedError(ChannelError):
    """The other end closed the connection between two frames or within one."""


class ConnectionSilentError(ChannelError):
    """The other end sent or took nothing for the connection's time limit."""


@dataclass(frozen=True)
class Frame:
    """One call or one answer."""

    header: Mapping[str, Any]
    payload: bytes = field(default=b"", repr=False)

    def take(self, name: str, kind: type) -> Any:
        """The header's entry `name`. Raises ChannelError where it is missing or of another kind."""
        value = self.header.get(name)
        if not isinstance(value, kind):
            raise _malformed(f"{name}, {kind.__name__}", type(value).__name__)
        return value


def send_frame(connection: socket.socket, header: Mapping[str, Any], payload: bytes = b"") -> None:
    """Send one frame whole.

    Raises ConnectionEndedError where the other end is gone, ConnectionSilentError where it takes nothing.
    """
    packed: bytes = msgpack.packb(header, use_bin_type=True)
    try:
        connection.sendall(_LENGTHS.pack(len(packed), len(payload)) + packed)
        if payload:
            connection.sendall(payload)
    except OSError as error:
        raise _broken(error) from error


def receive_frame(connection: socket.socket, within_s: float | None = None) -> Frame:
    """The next frame, which has to be whole `within_s` from now; None: as long as something of it comes.

    Raises ConnectionEndedError at the connection's end, ConnectionSilentError where nothing comes within the
    connection's time limit, or the frame is not whole in time, ChannelError for what is no frame.
    """
    ends_at = math.inf if within_s is None else time.monotonic() + within_s
    header_bytes, payload_bytes = _LENGTHS.unpack(_receive_exactly(connection, _LENGTHS.size, ends_at))
    if header_bytes > MAX_HEADER_BYTES or payload_bytes > MAX_PAYLOAD_BYTES:
        raise _malformed(
            f"a header up to {MAX_HEADER_BYTES} bytes and a payload up to {MAX_PAYLOAD_BYTES}",
            f"{header_bytes} and {payload_bytes}",
        )
    packed = _receive_exactly(connection, header_bytes, ends_at)
    payload = _receive_exactly(connection, payload_bytes, ends_at)
    try:
        header = msgpack.unpackb(packed, raw=False, strict_map_key=True)
    except (ValueError, msgpack.UnpackException) as error:
        raise _malformed("a MessagePack map", "other bytes") from error
    if not isinstance(header, dict):
        raise _malformed("a MessagePack map", type(header).__name__)
    return Frame(header, payload)


def _receive_exactly(connection: socket.socket, byte_count: int, ends_at: float) -> bytes:
    """Memory grows with what has come, not with what the other end announced."""
    received = bytearray()
    while len(received) < byte_count:
        try:
            if ends_at < math.inf:
                # By itself each part that comes would begin the connection's time limit anew.
                connection.settimeout(_left_s(ends_at))
            part = connection.recv(min(byte_count - len(received), 1 << 20))
        except OSError as error:
            raise _broken(error) from error
        if not part:
            raise _ended()
        received += part
    return bytes(received)


def _left_s(ends_at: float) -> float:
    """Also an end that always has more to send is refused once the time is up: a wait of 0 would still receive it."""
    left_s = ends_at - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    return left_s


def _broken(error: OSError) -> ChannelError:
    # A time limit of Python's own raises TimeoutError, one of the socket's (SO_SNDTIMEO) BlockingIOError.
    if isinstance(error, TimeoutError | BlockingIOError):
        return ConnectionSilentError("the connection is silent", cure="look at what the other end is doing")
    return _ended()


def _ended() -> ConnectionEndedError:
    return ConnectionEndedError("the connection ended", cure="look at why the other end stopped")


def _malformed(expected: str, got: str) -> ChannelError:
    return ChannelError("malformed frame", expected=expected, got=got)
