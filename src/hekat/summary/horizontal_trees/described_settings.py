"""The settings of a job of trees across rows as the plain table of summary.json."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hekat.protocol.horizontal_trees.settings import HorizontalTreesSettings
from hekat.summary.horizontal.described_settings import CLAIM, describe_opening
from hekat.summary.trees.described_training import describe_training


def describe_row_trees(settings: HorizontalTreesSettings, members: Sequence[str] | None) -> dict[str, Any]:
    """Every setting; those that are off or belong to another protection are left out. `members` were drawn for the job,
    None where all parties are."""
    described: dict[str, Any] = {
        "protection": settings.protection,
        **_describe_protection(settings, members),
        "task": "regression" if settings.classes is None else "classification",
        "classes": None if settings.classes is None else list(settings.classes),
        **describe_training(settings.training),
        "weight_max": settings.weight_max,
        "min_parties": settings.sums.min_parties,
        "aggregator": settings.aggregator,
        "leader": settings.leader,
    }
    if settings.privacy is not None:
        described["privacy_noise"] = settings.leaf_noise.claimed.noise
        described["privacy_delta"] = settings.privacy.delta
        described["privacy_neighbours"] = settings.privacy.neighbours
        described["privacy_colluders"] = settings.leaf_noise.colluders
    if settings.hold_out:
        described["hold_out"] = settings.hold_out
    return described


def _describe_protection(settings: HorizontalTreesSettings, members: Sequence[str] | None) -> dict[str, Any]:
    if settings.protection == "paillier":
        return {"key_bits": settings.key_bits}
    if settings.protection == "none":
        return {}
    # Sums of a run have several sets, none weaker than the one that the claim is of.
    found = {**describe_opening(settings.sums, members), "security": f"at least {CLAIM}"}
    return {**found, "check_sum": True} if settings.check_sum else found
