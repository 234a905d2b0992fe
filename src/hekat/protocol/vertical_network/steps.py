"""The names of steps, and the public name of a model."""

from __future__ import annotations

import hashlib

READY_STEP = "ready"
START_STEP = "start"
SEED_STEP = "mask-seed"
FIRST_STEP = "first-addend"
FACTORS, ANSWER, OUTPUTS, SLOPES, GRADIENT = "factors", "answer", "outputs", "slopes", "gradient"
HOST_WEIGHTS, FEATURE_ANSWER, FEATURE_SLOPES = "host-weights", "feature-answer", "feature-slopes"
FEATURES, NOISY_GRADIENT = "features", "noisy-gradient"
EPOCH_END = "end"
HELD_OUT = "held-out"
LOSS = "loss"
PREDICT_STEP = "predict"
_MODEL_DOMAIN = b"hekat/vertical-network/model/1:"


def epoch_step(epoch: int) -> str:
    """The step of an epoch; the first is 1."""
    return f"epoch-{epoch}"


def batch_step(epoch: int, batch: int) -> str:
    """The step of a batch; the first batch is 0."""
    return f"epoch-{epoch}/batch-{batch + 1}"


def block_step(step: str, block: int) -> str:
    """The step of rows that are not trained on; the first block is 0."""
    return f"{step}/block-{block + 1}"


def model_id_of(session_id: bytes) -> str:
    """The public name that all parts of a session's model carry."""
    return hashlib.sha256(_MODEL_DOMAIN + session_id).hexdigest()[:32]
