"""The messages with which a run begins, each field with what it discloses and to whom."""

from __future__ import annotations

from dataclasses import dataclass

from hekat.wire import disclosed, message, public

SETTLED_STEP = "categories/ready"
"""The step of a second `ReadyMessage`, once the parties found categories together and have a model."""


@message("horizontal/ready", version=2)
@dataclass(frozen=True)
class ReadyMessage:
    """Party to aggregator, once: the shape of its table and of its model, so that other columns or another model
    are found before training. Of columns whose categories the parties find together it has numbers and no texts."""

    schema: str = disclosed("the digest of the party's column names and classes")
    columns: list[str] = disclosed("the names of the party's columns")
    model_code: str = disclosed("the digest of the party's model code; empty for a model of Hekat's own")
    tensors: list[str] = disclosed("names and shapes of the model's tensors")
    model_start: str = disclosed("the digest of the parameters that training begins with")


@message("horizontal/start", version=1)
@dataclass(frozen=True)
class StartMessage:
    """Aggregator to each party, once: all parties are here and their schemas agree."""

    party_count: int = public()
