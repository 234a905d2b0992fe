"""One upload of all parties: its number, who takes part, and the names of its messages' steps."""

from __future__ import annotations

from dataclasses import dataclass

AUTHORITY_STEP = "authority/begin"
"""The step name under which the aggregator tells a key authority of every upload, and of the end."""


@dataclass(frozen=True)
class Leg:
    """`step` is what is summed ("round-3"); `number` is used once by every party, whatever step, run or session."""

    step: str
    number: int
    participants: tuple[str, ...]

    def name(self, part: str) -> str:
        """The step name of a message of this upload."""
        return f"{self.step}/upload-{self.number}/{part}"


def begin_step(step: str) -> str:
    """The step name under which the aggregator begins uploads for `step`."""
    return f"{step}/begin"
