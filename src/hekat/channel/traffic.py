"""What a party's sealed channel counts: messages and sealed bytes, by peer and by group of steps."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

_NUMBER = re.compile(r"\d+")


@dataclass(slots=True)
class Traffic:
    """What passed between this party and one peer in one step, or group of steps: messages, and their sealed bytes."""

    sent_count: int = 0
    sent_bytes: int = 0
    received_count: int = 0
    received_bytes: int = 0


def group_of(step: str) -> str:
    """The steps that traffic is counted with: all of one upload ("round-3/upload-7/block") together.

    A run has some steps for each round and peer, and a role of many rounds would hold a count of each for good.
    """
    group = step.rpartition("/")[0]
    return sys.intern(group if "/" in group else step)


def group_over_rounds(step: str) -> str:
    """A step with 0 for all its numbers, so that rounds, uploads, calls, epochs and batches count together:
    "round-0/upload-0/block"."""
    return sys.intern(_NUMBER.sub("0", step))
