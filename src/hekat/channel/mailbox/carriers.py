"""Threads that deliver a mailbox's parcels, one for each peer that something waits for."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition, Thread

from hekat.channel.mailbox.post import Post

# A thread ends when nothing was to deliver for so long: a run of a hundred roles keeps no hundred threads.
_LINGERS_S = 0.5
_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 1.0
# One delivery may take so long, and a second more for each of so many bytes.
_DELIVERS_WITHIN_S = 10.0
_BYTES_A_SECOND = 1 << 20


@dataclass
class Reach:
    """How a peer was reached so far, by the monotonic clock."""

    failing_since: float | None
    """Since when nothing was delivered; None where the last delivery was."""
    was_reached: bool = False
    last_contact: float = 0.0
    is_carried: bool = False
    """Whether a thread delivers to it."""


class Carriers:
    """Delivers what `next_parcel` gives for a peer, until `settle` has its receipt.

    `changed` is the mailbox's condition; both callbacks are called with its lock held. `settle` returns whether the
    next parcel may go at once: after one that found no room there is a pause.
    """

    def __init__(
        self,
        post: Post,
        changed: Condition,
        next_parcel: Callable[[str], bytes | None],
        settle: Callable[[str, bytes], bool],
    ) -> None:
        self._post, self._changed = post, changed
        self._next_parcel, self._settle = next_parcel, settle
        self._reaches: dict[str, Reach] = {}
        self._is_closed = False

    def reach_of(self, peer: str) -> Reach:
        """How `peer` was reached; the lock is held."""
        return self._reaches.setdefault(peer, Reach(time.monotonic()))

    def wake(self, peer: str) -> None:
        """Something waits for `peer`; the lock is held."""
        reach = self.reach_of(peer)
        if not reach.is_carried and not self._is_closed:
            reach.is_carried = True
            Thread(target=self._carry, args=(peer, reach), name=f"hekat-post-{peer}", daemon=True).start()
        self._changed.notify_all()

    def close(self) -> None:
        """Begin no delivery any more; the lock is held."""
        self._is_closed = True
        self._changed.notify_all()

    def _carry(self, peer: str, reach: Reach) -> None:
        pause_s = _FIRST_PAUSE_S
        while True:
            parcel = self._wait_for_parcel(peer, reach)
            if parcel is None:
                return
            went_on = self._deliver(peer, reach, parcel)
            with self._changed:
                if went_on:
                    pause_s = _FIRST_PAUSE_S
                elif not self._is_closed:
                    heard = reach.last_contact
                    self._changed.wait_for(lambda: self._is_closed or reach.last_contact != heard, pause_s)  # noqa: B023
                    pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _wait_for_parcel(self, peer: str, reach: Reach) -> bytes | None:
        deadline = time.monotonic() + _LINGERS_S
        with self._changed:
            while not self._is_closed:
                parcel = self._next_parcel(peer)
                left_s = deadline - time.monotonic()
                if parcel is not None:
                    return parcel
                if left_s <= 0:
                    break
                self._changed.wait(left_s)
            reach.is_carried = False
            return None

    def _deliver(self, peer: str, reach: Reach, parcel: bytes) -> bool:
        try:
            receipt = self._post.deliver(peer, parcel, _DELIVERS_WITHIN_S + len(parcel) / _BYTES_A_SECOND)
        except Exception:
            # UndeliveredError, or an engine's own: the next try, or the time of the loss, decides.
            with self._changed:
                reach.failing_since = reach.failing_since or time.monotonic()
                self._changed.notify_all()
            return False
        with self._changed:
            went_on = self._settle(peer, receipt)
            self._changed.notify_all()
        return went_on
