"""Who learns the scores of a joint prediction, checked: names of parties that hold a part of the model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from hekat.errors import JobError

REFUSED = "receivers of a prediction refused"


def as_names(receivers: Sequence[str]) -> tuple[str, ...]:
    """The names as a tuple. Raises JobError for a bare text, which would count as one name for each letter."""
    if isinstance(receivers, str):
        raise JobError(
            REFUSED,
            expected=f"a list or tuple of names, such as [{receivers!r}]",
            got=f"the text {receivers!r}",
            cure="put it in brackets, however few they are",
        )
    return tuple(receivers)


def check_receiver_names(receivers: tuple[str, ...], parties: Sequence[str]) -> None:
    """Raise JobError unless `receivers` are one or more of the `parties`, each once."""
    known = set(receivers) <= set(parties)
    if not receivers or not known or len(set(receivers)) != len(receivers):
        raise JobError(
            REFUSED,
            expected=f"one or more of {', '.join(parties)}, each once",
            got=", ".join(map(str, receivers)) or "nobody",
            cure="name parties that hold a part of the model",
        )


@dataclass(frozen=True)
class ScoreReceivers(ABC):
    """Which parties predict together, and which of them, the `receivers`, learn the scores.

    The guest is among them where it learns the scores anyway. Raises JobError.
    """

    guest: str
    hosts: tuple[str, ...]
    receivers: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "hosts", tuple(self.hosts))
        object.__setattr__(self, "receivers", as_names(self.receivers))
        check_receiver_names(self.receivers, self.parties)
        why_guest = self.why_guest
        if self.guest not in self.receivers and why_guest is not None:
            raise JobError(
                REFUSED,
                expected=f"the guest {self.guest} among them: {why_guest}",
                got=", ".join(self.receivers),
                cure=f"add {self.guest} to the receivers",
            )

    @property
    @abstractmethod
    def why_guest(self) -> str | None:
        """What the guest has, so that it learns the scores anyway; None where they open to receivers alone."""

    @property
    def parties(self) -> tuple[str, ...]:
        """The guest, then the hosts."""
        return (self.guest, *self.hosts)
