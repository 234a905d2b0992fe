"""The names of steps, and the public name of a model."""

from __future__ import annotations

import hashlib

READY_STEP = "ready"
START_STEP = "start"
TREE_END = "end"
GRADIENTS_STEP = "gradients"
JOINED = "joined-bins"
SUMS = "sums"
CHOSEN = "splits"
SIDES = "sides"
_MODEL_DOMAIN = b"hekat/vertical-trees/model/1:"


def iteration_step(iteration: int) -> str:
    """The step of an iteration; the first is 1."""
    return f"tree-{iteration}"


def level_step(step: str, level: int) -> str:
    """The step of a level in a tree's step; the root is level 0."""
    return f"{step}/level-{level}"


def part_step(step: str, part: int) -> str:
    """The step of one exchange of a level whose partition is hidden; the first is 0."""
    return f"{step}/part-{part + 1}"


def model_id_of(session_id: bytes) -> str:
    """The public name that all parts of a session's model carry."""
    return hashlib.sha256(_MODEL_DOMAIN + session_id).hexdigest()[:32]
