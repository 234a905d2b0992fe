"""Every test leaves no thread of a mailbox behind."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from tests.channel.mailbox.fake_relay import LIMIT_S, FakeRelay, shorten_pauses


@pytest.fixture(autouse=True)
def _closed_mailboxes(monkeypatch) -> Iterator[None]:
    FakeRelay.made.clear()
    shorten_pauses(monkeypatch)
    yield
    for mailbox in FakeRelay.made:
        mailbox.close()
    for thread in threading.enumerate():
        if thread.name.startswith("hekat-post-"):
            thread.join(LIMIT_S)
            assert not thread.is_alive()
