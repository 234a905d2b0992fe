"""What the parties of a joint prediction agree on: who takes part, and who learns the scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hekat.errors import JobError
from hekat.protocol.vertical_network.model_part import NetworkPart


@dataclass(frozen=True)
class NetworkPredictionSettings:
    """Which parties predict together, and which of them, the `receivers`, learn the scores.

    The guest has the top and hears the outputs of all rows, so it is always one of them. Raises JobError.
    """

    guest: str
    hosts: tuple[str, ...]
    receivers: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "hosts", tuple(self.hosts))
        if isinstance(self.receivers, str):
            raise JobError(
                "receivers of a prediction refused",
                expected=f"a list or tuple of names, such as [{self.receivers!r}]",
                got=f"the text {self.receivers!r}",
                cure="put it in brackets, however few they are",
            )
        object.__setattr__(self, "receivers", tuple(self.receivers))
        known = set(self.receivers) <= set(self.parties)
        if not self.receivers or not known or len(set(self.receivers)) != len(self.receivers):
            raise JobError(
                "receivers of a prediction refused",
                expected=f"one or more of {', '.join(self.parties)}, each once",
                got=", ".join(map(str, self.receivers)) or "nobody",
                cure="name parties that hold a part of the model",
            )
        if self.guest not in self.receivers:
            raise JobError(
                "receivers of a prediction refused",
                expected=f"the guest {self.guest} among them: it has the top of the network",
                got=", ".join(self.receivers),
                cure=f"add {self.guest} to the receivers",
            )

    @classmethod
    def of(cls, part: NetworkPart, receivers: Sequence[str] = ()) -> NetworkPredictionSettings:
        """The settings for the parties of `part`'s model; the guest alone receives unless others are named."""
        return cls(part.guest, part.hosts, tuple(receivers) or (part.guest,))

    @property
    def parties(self) -> tuple[str, ...]:
        """The guest, then the hosts."""
        return (self.guest, *self.hosts)
