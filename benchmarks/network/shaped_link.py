"""Links between processes of this machine, as slow as stated: every role has one, for all that it sends and receives.

The relay delays what passes, as `tc netem` would: bytes leave one after the other at the link's rate, arrive half a
round trip later, and queue for the receiver's own link. A parcel that arrives while it is still being sent takes the
link's time once, not twice. Kernels without netem (`shaping_of_kernel`) need no rights for this.
"""

from __future__ import annotations

import gzip
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from hekat.channel.mailbox import MailboxChannel, UndeliveredError
from hekat.errors import ChannelError, HekatError
from hekat.launch.frames import receive_frame, send_frame

# What an engine's idle time-outs never reach while bytes move: whoever queues for a slow link is not lost.
_QUEUES_AT_MOST_S = 3600.0
_KERNEL_OPTIONS = Path("/proc/config.gz")


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
    Link("1 Gbit/s, 1 ms", 1e9, 0.001),
    Link("100 Mbit/s, 50 ms", 100e6, 0.05),
    Link("10 Mbit/s, 50 ms", 10e6, 0.05),
)


@dataclass
class LinkEnd:
    """One role's link: when each way is free again, by the monotonic clock, which all processes share."""

    link: Link = LOOPBACK
    uplink_free_at: float = 0.0
    downlink_free_at: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin_sending(self, byte_count: int) -> float:
        """When the first of `byte_count` bytes leaves; the uplink is taken until the last has left."""
        with self._lock:
            first_bit_at = max(time.monotonic(), self.uplink_free_at)
            self.uplink_free_at = first_bit_at + self.link.seconds_of(byte_count)
            return first_bit_at

    def end_receiving(self, first_bit_at: float, byte_count: int) -> float:
        """When the last of `byte_count` bytes has arrived whose first left its sender at `first_bit_at`."""
        with self._lock:
            begins_at = max(first_bit_at + self.link.round_trip_s / 2, self.downlink_free_at)
            self.downlink_free_at = begins_at + self.link.seconds_of(byte_count)
            return self.downlink_free_at


@dataclass
class ShapedPost:
    """The post of one role: parcels go to the receiver's socket in `place`, as slowly as both roles' links say.

    `bytes_out` counts parcels as sent, `trips` how many, `bytes_in` what `serving` took.
    """

    place: Path
    role: str
    link: Link = LOOPBACK
    bytes_out: int = 0
    bytes_in: int = 0
    trips: int = 0
    end: LinkEnd = field(init=False)

    def __post_init__(self) -> None:
        self.end = LinkEnd(self.link)

    def deliver(self, to: str, parcel: bytes, timeout_s: float) -> bytes:
        self.bytes_out += len(parcel)
        self.trips += 1
        first_bit_at = self.end.begin_sending(len(parcel))
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(timeout_s if self.link is LOOPBACK else _QUEUES_AT_MOST_S)
                connection.connect(str(self.place / to))
                send_frame(connection, {"first_bit_at": first_bit_at}, parcel)
                receipt = receive_frame(connection)
                _sleep_until(receipt.take("left_at", float) + self.link.round_trip_s / 2)
                return receipt.payload
        except (OSError, ChannelError) as error:
            raise UndeliveredError("no receipt") from error


@contextmanager
def serving(post: ShapedPost, channel: MailboxChannel) -> Iterator[None]:
    """Takes parcels for `channel` at its socket in the post's place, no faster than the role's downlink."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(post.place / channel.party))
    listener.listen(512)

    def answer(connection: socket.socket) -> None:
        with connection, suppress(HekatError, OSError):
            frame = receive_frame(connection)
            parcel = frame.payload
            _sleep_until(post.end.end_receiving(frame.take("first_bit_at", float), len(parcel)))
            post.bytes_in += len(parcel)
            receipt = channel.accept(parcel)
            send_frame(connection, {"left_at": time.monotonic()}, receipt)

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


def shaping_of_kernel(options: Path = _KERNEL_OPTIONS) -> str:
    """Whether this machine's kernel could shape links itself, in words for the results."""
    try:
        with gzip.open(options, "rt") as lines:
            found = [line.strip() for line in lines if "CONFIG_NET_SCH_NETEM" in line]
    except OSError:
        return "the kernel does not say whether it has netem"
    has_netem = any(line.endswith(("=y", "=m")) for line in found)
    return "the kernel has netem" if has_netem else "the kernel has no netem (CONFIG_NET_SCH_NETEM is not set)"


def _sleep_until(at: float) -> None:
    while (left_s := at - time.monotonic()) > 0:
        time.sleep(left_s)
