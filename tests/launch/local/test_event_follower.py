"""Whoever follows roles' events and cannot pass them on says so at the end, and hides no other error."""

from __future__ import annotations

import pytest

from hekat.launch.local.event_follower import EventFollower


def refuse(role: str, event: object) -> None:
    raise OSError("no space")


def test_what_cannot_be_told_is_raised_at_the_end(tmp_path) -> None:
    (tmp_path / "events.jsonl").write_text('{"event": "round"}\n')
    with pytest.raises(OSError, match="no space"), EventFollower({"a": tmp_path / "events.jsonl"}, refuse):
        pass


def test_what_ends_the_run_matters_more(tmp_path) -> None:
    (tmp_path / "events.jsonl").write_text('{"event": "round"}\n')
    with pytest.raises(ValueError, match="party"), EventFollower({"a": tmp_path / "events.jsonl"}, refuse):
        raise ValueError("a party stopped")
