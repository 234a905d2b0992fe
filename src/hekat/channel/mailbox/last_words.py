"""How long a role that ends waits for what it still has to deliver."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from threading import Condition

# Nothing more is delivered where nothing was for so long.
LAST_WORDS_S = 20.0
# A link of 1 Mbit/s. However a peer draws it out, a role's end takes no longer than its bytes do at this.
SLOWEST_BYTES_A_SECOND = 1 << 17


def wait_until_told(
    changed: Condition, untold: Callable[[], Mapping[str, int]], limit_s: float, byte_count: int
) -> Mapping[str, int]:
    """Wait, with `changed` held, until no peer is `untold`; what is left of them, by the messages that they lack.

    It ends once no peer got one for `limit_s`, and in any case after `limit_s` and the time of `byte_count` bytes over
    a slow link.
    """
    begun = time.monotonic()
    latest = begun + limit_s + byte_count / SLOWEST_BYTES_A_SECOND
    left, deadline = untold(), begun + limit_s
    while left and (wait_s := min(deadline, latest) - time.monotonic()) > 0:
        changed.wait(wait_s)
        before, left = left, untold()
        if left != before:
            deadline = time.monotonic() + limit_s
    return left
