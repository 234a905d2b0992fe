"""What receipts say of why nothing of a role is taken, and when the role believes it.

A receipt is unsigned. A role believes one of a role that may not be lost itself, or the same of all others: else one
party could end the aggregator, and the run with it, by a word that nobody can lay at its door.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from hekat.channel.mailbox.parcel import ONE_RELEASE
from hekat.errors import PolicyError

PLAYED_TWICE = "another process plays this role"
OTHER_FORMAT = "another release plays here"


@dataclass
class Refusals:
    """Why the `others` take nothing of `role`."""

    role: str
    others: Collection[str]
    may_be_lost: frozenset[str]
    _said: dict[str, str] = field(default_factory=dict)

    def note(self, peer: str, refusal: str) -> None:
        """`peer` said so; what no release says counts for nothing."""
        if refusal in (PLAYED_TWICE, OTHER_FORMAT):
            self._said[peer] = refusal

    def error(self) -> PolicyError | None:
        """What the role's own calls raise; None where nothing is to be believed."""
        if by := self._believed(PLAYED_TWICE):
            return PolicyError(
                f"role {self.role!r} is played already",
                expected="one process for each role, from the beginning of a run to its end",
                got=f"a second one for {self.role!r}, as {by} said",
                cure="end the other, and begin a new run: a process that was started again cannot go on in this one",
            )
        if by := self._believed(OTHER_FORMAT):
            return PolicyError(
                f"role {self.role!r} is played by another release of Hekat",
                expected="one release at every site",
                got=f"another one at {by}",
                cure=ONE_RELEASE,
            )
        return None

    def told_by(self, peers: Collection[str]) -> str:
        """What some of `peers` said, for an error that they are part of: " (b: another release plays here)"."""
        said = "; ".join(f"{peer}: {self._said[peer]}" for peer in peers if peer in self._said)
        return f" ({said})" if said else ""

    def _believed(self, refusal: str) -> str:
        by = {peer for peer, said in self._said.items() if said == refusal}
        is_believed = bool(by - self.may_be_lost) or by == set(self.others)
        return ", ".join(sorted(by)) if is_believed else ""
