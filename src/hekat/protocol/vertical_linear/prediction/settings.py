"""What the parties of a joint prediction agree on: who takes part, who learns the scores, and how fine these are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral

from hekat.errors import JobError
from hekat.protocol.vertical.score_receivers import as_names, check_receiver_names
from hekat.protocol.vertical_linear.model_part import ModelPart

SCORE_BITS = 12
"""Scores are told to 2^-12 unless the job says otherwise: with two parties a probability is off by at most 2^-13."""
LEAST_SCORE_BITS, MOST_SCORE_BITS = 1, 40


@dataclass(frozen=True)
class PredictionSettings:
    """Which parties predict together, and which of them, the `receivers`, learn the scores.

    Scores are told to 2^-score_bits, in a regression in spreads of its target. Raises JobError.
    """

    guest: str
    hosts: tuple[str, ...]
    receivers: tuple[str, ...]
    score_bits: int = SCORE_BITS

    def __post_init__(self) -> None:
        object.__setattr__(self, "hosts", tuple(self.hosts))
        object.__setattr__(self, "receivers", as_names(self.receivers))
        check_receiver_names(self.receivers, self.parties)
        bits = self.score_bits
        if not isinstance(bits, Integral) or isinstance(bits, bool) or not LEAST_SCORE_BITS <= bits <= MOST_SCORE_BITS:
            raise JobError(
                "score_bits of a prediction refused",
                expected=f"{LEAST_SCORE_BITS} to {MOST_SCORE_BITS}: scores are told to 2^-score_bits",
                got=repr(bits),
                cure=f"leave it at {SCORE_BITS}, or correct it",
            )

    @classmethod
    def of(cls, part: ModelPart, receivers: Sequence[str] = (), score_bits: int = SCORE_BITS) -> PredictionSettings:
        """The settings for the parties of `part`'s model; the guest receives unless others are named."""
        return cls.between(part.guest, part.hosts, receivers, score_bits)

    @classmethod
    def between(
        cls, guest: str, hosts: tuple[str, ...], receivers: Sequence[str] = (), score_bits: int = SCORE_BITS
    ) -> PredictionSettings:
        """The settings for named parties; the guest receives unless others are named."""
        return cls(guest, hosts, as_names(receivers) or (guest,), score_bits)

    @property
    def parties(self) -> tuple[str, ...]:
        """The guest, then the hosts."""
        return (self.guest, *self.hosts)

    def told_bits(self, part: ModelPart) -> int:
        """Scores of `part`'s model are told to 2^-told_bits: no finer than the parties compute them."""
        return min(self.score_bits, part.value_bits)

    @property
    def summing_party(self) -> str:
        """The receiver that adds the parts up and sends the scores to the other receivers."""
        return self.guest if self.guest in self.receivers else self.receivers[0]
