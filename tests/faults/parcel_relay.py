"""A relay of parcels between processes of this machine; a test lets it drop, double, delay and alter them."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from hekat.errors import ChannelError
from hekat.launch.frames import receive_frame, send_frame

Change = Callable[[str, str, bytes], bytes | None]
"""What becomes of a parcel from one role to another; None drops it."""
# What no healthy process needs to answer a parcel; a stopped one makes its sender wait for so long.
ANSWERS_WITHIN_S = 2.0
DELAY_S = 2.0


def home_of(relay: Path, role: str) -> Path:
    """The socket where a role's process takes parcels."""
    return relay.with_name(f"{relay.name}.{role}")


@dataclass
class ParcelRelay:
    """Serves at the socket `path` in a `with` block. `drop`, `double` and `delay` (by `DELAY_S`) are odds.

    `cut` roles are out of reach; `seen` has all that passed.
    """

    path: Path
    drop: float = 0.0
    double: float = 0.0
    delay: float = 0.0
    change: Change = lambda sender, to, parcel: parcel
    cut: set[str] = field(default_factory=set)
    seen: list[tuple[str, str, bytes]] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._random, self._state = random.Random(1), threading.Lock()
        self._over = threading.Event()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self._listener.listen(128)
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._over.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(ChannelError, OSError):
            frame = receive_frame(connection)
            sender, to = frame.take("from", str), frame.take("to", str)
            with self._state:
                self.seen.append((sender, to, frame.payload))
                is_dropped, is_doubled, is_delayed = (
                    self._random.random() < odds for odds in (self.drop, self.double, self.delay)
                )
            if is_delayed:
                self._over.wait(DELAY_S)
            parcel = self.change(sender, to, frame.payload)
            if is_dropped or parcel is None or {sender, to} & self.cut:
                return
            receipt = self._hand_over(to, parcel)
            if is_doubled:
                receipt = self._hand_over(to, parcel)
            send_frame(connection, {}, receipt)

    def _hand_over(self, to: str, parcel: bytes) -> bytes:
        with socket.socket(socket.AF_UNIX) as home:
            home.settimeout(ANSWERS_WITHIN_S)
            home.connect(str(home_of(self.path, to)))
            send_frame(home, {}, parcel)
            return receive_frame(home).payload
