"""Where a role's parcels lie until whoever carries them takes them away."""

from __future__ import annotations

from threading import Lock

Addressed = tuple[str, bytes]
"""The role that a parcel is for, and the parcel."""


class Shelf:
    """The post of a mailbox: keeps parcels in their order until they are taken."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: list[Addressed] = []

    def deliver(self, to: str, parcel: bytes, timeout_s: float) -> bytes:
        """Keep `parcel` for the role `to`."""
        with self._lock:
            self._kept.append((to, parcel))
        return b""

    def take(self) -> list[Addressed]:
        """All parcels that nobody took before."""
        with self._lock:
            taken, self._kept = self._kept, []
        return taken
