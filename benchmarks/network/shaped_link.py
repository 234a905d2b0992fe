"""Links between processes of this machine, as slow as stated: a role's way out and in, each one after the other."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from hekat.channel.mailbox import MailboxChannel, UndeliveredError
from hekat.errors import ChannelError, HekatError
from hekat.launch.local.frames import receive_frame, send_frame


@dataclass(frozen=True)
class Link:
    """Bits a second each way, and seconds of a round trip; infinite and 0 is the machine's own loopback."""

    name: str
    bits_a_second: float
    round_trip_s: float

    def seconds_of(self, byte_count: int) -> float:
        return 8 * byte_count / self.bits_a_second


LOOPBACK = Link("loopback", float("inf"), 0.0)
LINKS = (
    Link("LAN, 10 Gbit/s", 10e9, 0.0002),
    Link("1 Gbit/s, 1 ms", 1e9, 0.001),
    Link("100 Mbit/s, 50 ms", 100e6, 0.05),
    Link("10 Mbit/s, 50 ms", 10e6, 0.05),
)


@dataclass
class ShapedPost:
    """The post of one role: parcels go to the receiver's socket in `place`, no faster than the role's own uplink.

    `bytes_out` counts parcels as sent, `trips` how many.
    """

    place: Path
    role: str
    link: Link = LOOPBACK
    bytes_out: int = 0
    trips: int = 0
    _uplink: threading.Lock = field(default_factory=threading.Lock)

    def deliver(self, to: str, parcel: bytes, timeout_s: float) -> bytes:
        with self._uplink:
            self.bytes_out += len(parcel)
            self.trips += 1
            _pass(self.link.seconds_of(len(parcel)))
        _pass(self.link.round_trip_s)
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(timeout_s)
                connection.connect(str(self.place / to))
                send_frame(connection, {}, parcel)
                return receive_frame(connection).payload
        except (OSError, ChannelError) as error:
            raise UndeliveredError("no receipt") from error


@contextmanager
def serving(place: Path, channel: MailboxChannel, link: Link = LOOPBACK) -> Iterator[None]:
    """Takes parcels for `channel` at its socket in `place`, no faster than the role's downlink."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(place / channel.party))
    listener.listen(512)
    downlink = threading.Lock()

    def answer(connection: socket.socket) -> None:
        with connection, suppress(HekatError, OSError):
            parcel = receive_frame(connection).payload
            with downlink:
                _pass(link.seconds_of(len(parcel)))
            send_frame(connection, {}, channel.accept(parcel))

    def take() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    threading.Thread(target=take, daemon=True).start()
    try:
        yield
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _pass(seconds: float) -> None:
    if seconds > 0:
        time.sleep(seconds)
