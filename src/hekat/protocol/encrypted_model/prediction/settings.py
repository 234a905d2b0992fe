"""What the roles of a prediction by an encrypted model agree on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hekat.errors import PolicyError
from hekat.protocol.encrypted_model.settings import EncryptedModelSettings
from hekat.protocol.setting_checks import refuse_setting

SCORE_BITS: Final = 12
"""Scores are told to 2^-SCORE_BITS, in a regression in spreads of its label."""


def usual_rows(column_count: int) -> int:
    """How many rows may be scored in all unless more are allowed: fewer than half as many as there are weights, with
    the intercept."""
    return column_count // 2


@dataclass(frozen=True)
class PredictionSettings:
    """Which host has the rows (`asker`), and which one learns their scores (`receiver`; None: the same).

    `training` names arbiter and aggregator, which hold the shares. Scores tell the weights: of rows of its choice an
    asker that lies reads two in one score. No more than `most_rows` rows are scored (None: `usual_rows`). Raises
    InputError.
    """

    training: EncryptedModelSettings
    asker: str
    receiver: str | None = None
    most_rows: int | None = None

    def __post_init__(self) -> None:
        if self.receiver is None:
            object.__setattr__(self, "receiver", self.asker)
        for key, name in (("asker", self.asker), ("receiver", str(self.receiver))):
            if name not in self.training.hosts:
                refuse_setting(f"prediction.{key}", f"one of the hosts {', '.join(self.training.hosts)}", repr(name))
        if self.most_rows is not None and (isinstance(self.most_rows, bool) or self.most_rows < 1):
            refuse_setting("prediction.most_rows", "a whole number of 1 or more", self.most_rows)

    @property
    def receiver_name(self) -> str:
        """The host that learns the scores."""
        return str(self.receiver)

    @property
    def everyone(self) -> tuple[str, ...]:
        """All roles of the prediction, each once."""
        others = (self.receiver_name,) if self.receiver_name != self.asker else ()
        return (self.asker, *others, self.training.aggregator, self.training.arbiter)

    def check_rows(self, row_count: int, column_count: int) -> None:
        """Raise PolicyError for more rows than may be scored by a model of so many columns, or for none."""
        most = usual_rows(column_count) if self.most_rows is None else self.most_rows
        if not 1 <= row_count <= most:
            raise PolicyError(
                "so many scores may tell the model",
                expected=f"1 to {most:,} rows",
                got=f"{row_count:,}",
                cure="score fewer rows, or set prediction.most_rows where the receiver may learn the model",
            )
