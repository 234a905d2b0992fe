"""How long a role waits for other parties' messages of an upload: less than the aggregator waits for that role.

Otherwise the aggregator would drop the waiting party instead of the silent one.
"""

from __future__ import annotations

import time

_LEAST_S = 1e-3


def aggregator_timeout_of(step_timeout_s: float, party_count: int) -> float:
    """How long a role waits for the aggregator, which may itself wait for each party's shares and upload."""
    return 2 * (party_count + 2) * step_timeout_s


class Deadline:
    """One span of time for several messages of one party; None: as long as the channel waits for each."""

    def __init__(self, seconds: float | None) -> None:
        self._until = None if seconds is None else time.monotonic() + seconds

    @property
    def left_s(self) -> float | None:
        """Seconds left for the next message; a message that has arrived already is received in any case."""
        return None if self._until is None else max(self._until - time.monotonic(), _LEAST_S)


class PeerWait(Deadline):
    """Time for one part of an upload, shared by all peers that owe this role a message."""

    def __init__(self, aggregator_timeout_s: float | None, party_count: int) -> None:
        """`aggregator_timeout_s` as of `aggregator_timeout_of`; half a step's time is shared."""
        super().__init__(
            None if aggregator_timeout_s is None else aggregator_timeout_s / aggregator_timeout_of(2, party_count)
        )
