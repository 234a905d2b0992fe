"""The end of a role: how long it waits for what it still has to deliver."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from threading import Condition

# A peer that got nothing for so long gets nothing more.
LAST_WORDS_S = 20.0
# A link of 1 Mbit/s. However a peer draws it out, its part of an end takes no longer than its bytes do at this,
SLOWEST_BYTES_A_SECOND = 1 << 17
# and no longer than this.
MOST_S = 300.0


class LastWords:
    """One end, begun once; whoever ends the role again meanwhile can only cut it short. `changed` is the channel's."""

    def __init__(self, changed: Condition) -> None:
        self._changed = changed
        self._latest = float("inf")
        self.has_begun = False

    def cut_short(self, within_s: float | None) -> None:
        """End within `within_s` from now, if that is sooner; None changes nothing."""
        if within_s is not None:
            self._latest = min(self._latest, time.monotonic() + within_s)
            self._changed.notify_all()

    def deliver(
        self, untold: Callable[[], Mapping[str, int]], waiting: Mapping[str, int], limit_s: float
    ) -> tuple[str, ...]:
        """Wait, with `changed` held, until no peer is `untold`, or none is waited for any more; the untold ones.

        `untold` gives how many messages a peer lacks, `waiting` the bytes of them for every peer. A peer is waited for
        as long as it got a message within `limit_s`, for the time that its bytes take over a slow link beyond
        `limit_s`, and for `MOST_S` at most.
        """
        self.has_begun = True
        now = time.monotonic()
        latest = {peer: now + min(MOST_S, limit_s + size / SLOWEST_BYTES_A_SECOND) for peer, size in waiting.items()}
        left = dict(untold())
        idle_at = dict.fromkeys(left, now + limit_s)
        while left:
            until = max(min(idle_at[peer], latest[peer]) for peer in left)
            wait_s = min(until, self._latest) - time.monotonic()
            if wait_s <= 0:
                break
            self._changed.wait(wait_s)
            before, left = left, dict(untold())
            for peer, count in left.items():
                if count < before.get(peer, 0) or peer not in idle_at:
                    idle_at[peer] = time.monotonic() + limit_s
        return tuple(left)
