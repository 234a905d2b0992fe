"""What runs of any protocol take in tests."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest
from tests.protocol.unsealed import unseal

from hekat.channel import run_parties
from hekat.protocol import in_process

PATCH = pytest.StashKey[pytest.MonkeyPatch]()


# Hooks and no fixture: fixtures of a module or a session that play runs come before those of a test.
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Nothing is sealed but in tests marked `sealed`, where ledgers in memory keep messages too."""
    patch = item.stash[PATCH] = pytest.MonkeyPatch()
    if item.get_closest_marker("sealed") is None:
        unseal(patch)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    try:
        return (yield)
    finally:
        item.stash[PATCH].undo()


@pytest.fixture
def roles_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Roles compute at once, as on machines of their own: one may wait otherwise than by its channel."""
    monkeypatch.setattr(in_process, "run_parties", lambda roles, *, turn, **others: run_parties(roles, **others))
