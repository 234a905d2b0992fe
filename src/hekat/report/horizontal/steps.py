"""The steps that a run measures, in the order of a round, and what happens in each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# What a step does under every protection, or under Paillier; then what it does under the lattice scheme.
_STEPS = {
    "keys": "making the key pair, once",
    "train": "training on the party's own rows",
    "map": "the sensitivity map of the party's own rows, by which a mask is agreed on",
    "validate": "looking at the model on the party's held-out rows",
    "encode": "turning the update into whole numbers, many to a plaintext",
    "deal": "dealing out the round's secrets",
    "encrypt": "encrypting the update",
    "send": "sealing and signing messages, handing them over",
    "open": "opening sealed messages and checking who signed them",
    "aggregate": "adding the encrypted updates (plain ones without protection)",
    "decrypt": "decrypting the sum",
    "decode": "turning the sum back into an average update",
    # Of trees.
    "bin": "putting the party's own rows into bins",
    "gradients": "gradients of the party's own rows, rounded",
    "histograms": "adding up gradients of the party's own rows by node, column and bin",
    "losses": "losses of the party's own rows",
    "scores": "moving the scores of the party's own rows by new trees",
}
_LATTICE_STEPS = {
    "encode": "turning the update into whole numbers",
    "deal": "drawing the round's secret, dealing and checking its shares",
    "encrypt": "masking the update",
    "open": "opening sealed messages, checking signatures, opening the sum of the secrets",
    "aggregate": "checking and adding the masked updates",
    "decrypt": "unmasking the sum",
    "check": "checking that the sum is the sum of the uploads",
}


def step_names(summary: Mapping[str, Any]) -> list[str]:
    """The steps that were measured, in the order of a round."""
    found = summary["seconds_by_step"]
    return [step for step in _STEPS if step in found] + [step for step in found if step not in _STEPS]


def explain_step(summary: Mapping[str, Any], step: str) -> str:
    """What happens in it; empty for a step of another release."""
    own = _LATTICE_STEPS if summary["settings"]["protection"] == "lattice" else {}
    return own.get(step, _STEPS.get(step, ""))
