"""What runs of any protocol take in tests."""

from __future__ import annotations

import pytest

from hekat.channel import run_parties
from hekat.protocol import in_process


@pytest.fixture
def roles_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Roles compute at once, as on machines of their own: one may wait otherwise than by its channel."""
    monkeypatch.setattr(in_process, "run_parties", lambda roles, *, turn, **others: run_parties(roles, **others))
