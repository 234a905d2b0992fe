"""Which part of an update parties send in a round, and how they agree on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hekat.errors import InputError
from hekat.protocol.setting_checks import check_choice, refuse_setting

KeepBy = Literal["vote", "top_k", "random_k"]

KEEP = "keep"
"""The step under which a ledger says what parties send."""
WAYS = ("vote", "top_k", "random_k")
_REFUSED = {
    "union": "a union of the parties' own choices would travel in the clear, and tell whose values are large",
    "own": "sums of values at different coordinates are no sums: every party has to send the same ones",
}


@dataclass(frozen=True)
class KeepSettings:
    """`share`: of the values that are trained, above 0 to 1; 1 sends all. `by`: how the parties agree which ones.

    `vote`: every party names the blocks of 64 values where its own update is largest, and the blocks with the most
    votes are sent. `top_k`: the values that were largest in earlier sums, and as many random ones. `random_k`: random
    ones.
    """

    share: float = 1.0
    by: KeepBy = "vote"

    @property
    def is_on(self) -> bool:
        """Whether some values stay at home."""
        return self.share < 1

    @property
    def votes(self) -> bool:
        """Whether a sum of votes goes ahead of each round's sum."""
        return self.is_on and self.by == "vote"

    @property
    def sees_sums(self) -> bool:
        """Whether what is sent depends on sums before."""
        return self.is_on and self.by == "top_k"

    def describe(self) -> str:
        """What is sent, and what agreeing on it tells, in words."""
        told = {
            "vote": "those in the blocks that most parties vote for; how many vote for each block, all parties learn",
            "top_k": "those that were largest in sums before, and random ones, which tells nothing beyond the sums",
            "random_k": "random ones, which tells nothing",
        }
        return f"parties send {100 * self.share:g} % of the trained values in a round, {told[self.by]}"


def check_keep(keep: KeepSettings, *, share_name: str, by_name: str) -> None:
    """Raise InputError for a share or a way that cannot be, and for a way without effect."""
    if not 0 < keep.share <= 1:
        refuse_setting(share_name, "a share above 0, up to 1 (all values)", keep.share)
    if keep.by in _REFUSED:
        raise InputError(
            f"setting {by_name} refused",
            expected=" or ".join(map(repr, WAYS)),
            got=f"{keep.by!r}: {_REFUSED[keep.by]}",
            cure="choose 'vote', where parties choose together under encryption",
        )
    check_choice(by_name, keep.by, WAYS)
    if not keep.is_on and keep.by != KeepSettings().by:
        raise InputError(
            f"setting {by_name} has no effect",
            expected=f"{share_name} below 1",
            got="all values are sent",
            cure=f"set {share_name}, or remove {by_name}",
        )
