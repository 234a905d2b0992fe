"""The processes of roles: what each may import, and whose words are told."""

from __future__ import annotations

import json
from threading import Event

import pytest

from hekat.launch.local.children import Children


@pytest.fixture(autouse=True)
def busy_machine(monkeypatch) -> None:
    """One where a process takes longer to start than `end` gives it outside of tests."""
    monkeypatch.setattr("hekat.launch.local.children._END_WITHIN_S", 600.0)


@pytest.mark.long
def test_a_module_in_the_current_folder_is_not_imported(tmp_path, monkeypatch) -> None:
    """One that came with a job, say, would run in a process that holds a key."""
    (tmp_path / "json.py").write_text("raise SystemExit(77)")
    monkeypatch.chdir(tmp_path)
    failed = Event()
    children = Children({"a": ["--version"]}, tmp_path)
    children.start(lambda role: failed.set())
    children.end()
    assert (tmp_path / "0.json").read_text().startswith("hekat ")
    assert not failed.is_set()


def test_a_childs_own_reason_is_told(tmp_path) -> None:
    children = Children({"a": ["run", str(tmp_path / "no-job.toml"), "--json"]}, tmp_path)
    children.start(lambda role: None)
    children.end()
    reason = children.reason_of("a")
    assert reason is not None
    assert "no-job.toml" in str(reason)
    assert json.loads((tmp_path / "0.json").read_text())["error"] == reason.what
