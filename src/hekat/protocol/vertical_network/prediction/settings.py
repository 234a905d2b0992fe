"""What the parties of a joint prediction agree on: who takes part, and who learns the scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from hekat.protocol.vertical.score_receivers import GuestReceives
from hekat.protocol.vertical_network.model_part import NetworkPart
from hekat.protocol.vertical_network.settings import check_receivers


@dataclass(frozen=True)
class NetworkPredictionSettings(GuestReceives):
    """Which parties predict together, and which of them, the `receivers`, learn the scores.

    The guest has the top and hears the outputs of all rows, so it is always one of them. Raises JobError.
    """

    why_guest: ClassVar[str] = "it has the top of the network"

    @classmethod
    def of(cls, part: NetworkPart, receivers: Sequence[str] = ()) -> NetworkPredictionSettings:
        """The settings for the parties of `part`'s model; the guest alone receives unless others are named.

        Raises JobError for receivers that the part does not allow.
        """
        settings = cls(part.guest, part.hosts, tuple(receivers) or (part.guest,))
        check_receivers(part.hosts, settings.receivers, part.label_privacy, labels_accepted=part.labels_accepted)
        return settings
