"""How long a role waits for what other parties owe it in an upload: less than the aggregator waits for that role.

Else the aggregator would give up on who waits, not on who does not send.
"""

from __future__ import annotations

import time

_LEAST_S = 1e-3


class PeerWait:
    """Time for one part of an upload, shared by all peers that something is awaited of."""

    def __init__(self, patience_s: float | None, party_count: int) -> None:
        """`patience_s` is the role's patience with the aggregator, time for it to wait for each party and more.

        None: as long as the channel waits for anybody.
        """
        share_s = None if patience_s is None else patience_s / (2 * (party_count + 1))
        self._until = None if share_s is None else time.monotonic() + share_s

    @property
    def left_s(self) -> float | None:
        """What is left for the next peer; what has come already is received in any time."""
        return None if self._until is None else max(self._until - time.monotonic(), _LEAST_S)
