"""What the parties of a joint prediction agree on: who takes part, and who learns the scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hekat.protocol.vertical.score_receivers import ScoreReceivers
from hekat.protocol.vertical_trees.model_part import TreesPart


@dataclass(frozen=True)
class TreePredictionSettings(ScoreReceivers):
    """Which parties predict together, and which of them, the `receivers`, learn the scores.

    The guest has the trees and hears the sides of all splits, so it is always one of them. Raises JobError.
    """

    @property
    def why_guest(self) -> str:
        """See `ScoreReceivers`."""
        return "it has the trees, and adds their leaves up"

    @classmethod
    def of(cls, part: TreesPart, receivers: Sequence[str] = ()) -> TreePredictionSettings:
        """The settings for the parties of `part`'s model; the guest alone receives unless others are named."""
        return cls(part.guest, part.hosts, tuple(receivers) or (part.guest,))
