"""The tables of summary.json that all runs on columns have."""

from __future__ import annotations

from typing import Literal, TypedDict


class PartyFacts(TypedDict):
    """One role. `rows` and `columns` are of its own table, before the intersection; None for the arbiter.

    `class_rows` counts the guest's common rows by class; None elsewhere and for a regression.
    """

    name: str
    role: Literal["guest", "host", "arbiter"]
    rows: int | None
    columns: int | None
    class_rows: dict[str, int] | None


class IntersectionFacts(TypedDict):
    """`kind` is "ecdh", "rsa_blind", or "aligned" where nothing was compared. `sizes` by party, as this machine has all
    tables."""

    kind: str
    sizes: dict[str, int]
    common: int
    seconds: float


class RoleBytes(TypedDict):
    """Sealed bytes; `by_step` by kind of step, {kind: {"sent": bytes, "received": bytes}}."""

    sent: int
    received: int
    by_step: dict[str, dict[str, int]]


class Bytes(TypedDict):
    """`ciphertext_bytes`: bytes of one ciphertext's numbers in training; None where it was in the clear."""

    by_role: dict[str, RoleBytes]
    ciphertext_bytes: int | None


class Seconds(TypedDict):
    """Seconds of the whole session and its parts, all roles taking turns; a part that was not played is 0."""

    total: float
    intersection: float
    training: float
    prediction: float
