"""The names of steps, which the roles of both forms share, and the public name of a model."""

from __future__ import annotations

import hashlib

READY_STEP = "ready"
START_STEP = "start"
EPOCH_END = "end"
_MODEL_DOMAIN = b"hekat/vertical-linear/model/1:"


def epoch_step(epoch: int) -> str:
    """The step of an epoch; the first epoch is 1."""
    return f"epoch-{epoch}"


def batch_step(epoch: int, batch: int) -> str:
    """The step of a batch; the first batch is 0."""
    return f"epoch-{epoch}/batch-{batch + 1}"


def model_id_of(session_id: bytes) -> str:
    """The public name that all parts of a session's model carry."""
    return hashlib.sha256(_MODEL_DOMAIN + session_id).hexdigest()[:32]
