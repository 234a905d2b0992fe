"""What the parties of a joint prediction agree on: who takes part, and who learns the scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hekat.errors import JobError
from hekat.protocol.vertical.score_receivers import ScoreReceivers
from hekat.protocol.vertical_network.model_part import NetworkPart
from hekat.protocol.vertical_network.settings import LABELS_ACCEPTED, SEALED, SHARED


@dataclass(frozen=True)
class NetworkPredictionSettings(ScoreReceivers):
    """Which parties predict together with a network of `form`, and which of them, the `receivers`, learn the scores.

    The guest has the top and hears the outputs of all rows, so it is always one of them; scores of form "sealed" open
    to their receivers alone, also where the guest is none. Raises JobError.
    """

    form: str = SHARED

    @property
    def why_guest(self) -> str | None:
        """See `ScoreReceivers`."""
        return None if self.form == SEALED else "it has the top of the network"

    @classmethod
    def of(cls, part: NetworkPart, receivers: Sequence[str] = ()) -> NetworkPredictionSettings:
        """The settings for the parties of `part`'s model; the guest alone receives unless others are named.

        Raises JobError for receivers that the part does not allow.
        """
        settings = cls(part.guest, part.hosts, tuple(receivers) or (part.guest,), part.form)
        settings.check_told_hosts(part.label_privacy, labels_accepted=part.labels_accepted)
        return settings

    def check_told_hosts(self, label_privacy: float | None, *, labels_accepted: bool) -> None:
        """Raise JobError where a host would be told scores of labels as they are, and the job does not accept that.

        A host that lies marks a row with a feature of its own, and the difference of two scores then tells the row's
        label.
        """
        told = [host for host in self.hosts if host in self.receivers]
        if not told or label_privacy is not None or labels_accepted:
            return
        words = f"label_leak.accepted = {LABELS_ACCEPTED!r}"
        is_sealed = self.form == SEALED
        raise JobError(
            f"scores tell a host such as {told[0]} the labels of rows that it has marked",
            expected=f"prediction.receivers without hosts, {'' if is_sealed else 'label_privacy.epsilon, '}or {words}",
            got=f"{', '.join(told)} among prediction.receivers",
            cure="let the guest alone receive scores, or train with "
            + (f"{words}, where the guest's site allows it" if is_sealed else "label_privacy.epsilon"),
        )
