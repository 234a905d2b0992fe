"""The names of steps, which the roles of both forms spell alike, and the model's public name."""

from __future__ import annotations

import hashlib

READY_STEP = "ready"
START_STEP = "start"
EPOCH_END = "end"
_MODEL_DOMAIN = b"hekat/vertical-linear/model/1:"


def epoch_step(epoch: int) -> str:
    """Of an epoch, 1 the first."""
    return f"epoch-{epoch}"


def batch_step(epoch: int, batch: int) -> str:
    """Of a batch, 0 the first."""
    return f"epoch-{epoch}/batch-{batch + 1}"


def model_id_of(session_id: bytes) -> str:
    """The name that all parts of the model of a session carry; public."""
    return hashlib.sha256(_MODEL_DOMAIN + session_id).hexdigest()[:32]
