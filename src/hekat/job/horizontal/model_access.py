"""Refuses a horizontal job that wants hosts to train a model which they cannot read: another protocol does that."""

from __future__ import annotations

from hekat.errors import JobError
from hekat.job.section import Section

_KEY = "model_access"


def refuse_model_access(section: Section) -> None:
    """Raise JobError where the section says who may read the model: in a horizontal job every party does."""
    if not section.has(_KEY):
        return
    key = f"{section.place}.{_KEY}" if section.place else _KEY
    raise JobError(
        f"{key} is no setting of a horizontal job, where every party reads the model",
        expected="a job of protocol 'encrypted_model' to train a model that hosts cannot read",
        got=key,
        cure='set protocol = "encrypted_model", and name hosts, aggregator, arbiter and owner '
        "(docs/how_to/encrypted_model.md); or leave the line out",
    )
