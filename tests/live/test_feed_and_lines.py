"""Snapshots that pass between threads, lines of files that grow, figures that pass between processes."""

from __future__ import annotations

import asyncio
import json
import os
import stat

import pytest
from tests.live.conftest import make_state

from hekat.errors import StateError
from hekat.live.feed import Feed
from hekat.live.figures import FiguresFile, MachineReader, load_role, read_role, write_role
from hekat.live.new_lines import NewLines
from hekat.live.state import RoleWork
from hekat.protocol.role_session import RoleSession


def test_a_reader_gets_the_newest_and_nothing_twice() -> None:
    async def read() -> None:
        feed = Feed()
        feed.serve_in(asyncio.get_running_loop())
        feed.publish(b"1")
        feed.publish(b"2")
        found = await feed.wait_for_newer(0, 1)
        assert (found.number, found.data) == (2, b"2")
        assert await feed.wait_for_newer(2, 0.01) is None
        waiting = asyncio.create_task(feed.wait_for_newer(2, 60))
        await asyncio.sleep(0)
        await asyncio.to_thread(feed.publish, b"3")
        assert (await waiting).data == b"3"

    asyncio.run(read())


def test_nothing_follows_the_last_snapshot() -> None:
    feed = Feed()
    feed.publish(b"1", is_last=True)
    feed.publish(b"2")
    assert feed.newest.data == b"1"
    assert feed.newest.is_last


def test_readers_are_let_go_at_the_end_whatever_was_published_last() -> None:
    async def read() -> None:
        feed = Feed()
        feed.serve_in(asyncio.get_running_loop())
        feed.publish(b"1")
        waiting = asyncio.create_task(feed.wait_for_newer(1, 60))
        await asyncio.sleep(0)
        feed.end()
        assert await waiting is None
        assert feed.is_over
        assert (await feed.wait_for_newer(0, 60)).data == b"1"

    asyncio.run(read())


def test_publishing_needs_no_reader_and_no_event_loop() -> None:
    feed = Feed()
    loop = asyncio.new_event_loop()
    feed.serve_in(loop)
    feed.leave_loop()
    loop.close()
    feed.publish(b"1")
    assert feed.newest.number == 1


def test_lines_are_told_once_whole_and_wherever_the_file_lies(tmp_path) -> None:
    first, moved = tmp_path / "roles.jsonl", tmp_path / "joined.jsonl"
    lines = NewLines([moved, first])
    assert list(lines.look()) == []
    first.write_bytes(b'{"a": 1}\nno json\n[1]\n{"a"')
    assert list(lines.look()) == [{"a": 1}]
    with first.open("ab") as file:
        file.write(b": 2}\n")
    first.rename(moved)
    assert list(lines.look()) == [{"a": 2}]
    assert list(lines.look()) == []


def test_figures_pass_from_process_to_process_unread_by_others(tmp_path) -> None:
    path, work = tmp_path / "0.json", RoleWork("north", {"train": 0.5}, 3, 4, 1, 2, 0.25, 99)
    write_role(path, work)
    assert load_role(path, "north") == work
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_role(path, "east") is None


@pytest.mark.parametrize("change", [{"sent_bytes": "many"}, {"more": 1}, {"seconds": [1]}, {"cpu_s": True}])
def test_figures_of_another_form_are_left_out(tmp_path, change) -> None:
    path = tmp_path / "0.json"
    write_role(path, RoleWork("north"))
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    assert load_role(path, "north") is None
    path.write_text("no json")
    assert load_role(path, "north") is None


def test_a_role_keeps_its_own_figures_alone(tmp_path) -> None:
    sink = FiguresFile(tmp_path / "0.json", "north")
    sink.take(make_state(roles=(RoleWork("east", sent_bytes=1), RoleWork("north", sent_bytes=2))), [])
    assert load_role(tmp_path / "0.json", "north").sent_bytes == 2


def test_figures_that_cannot_be_kept_are_refused_before_the_run(tmp_path) -> None:
    with pytest.raises(StateError):
        FiguresFile(tmp_path / "no folder" / "0.json", "north")


def test_figures_of_a_role_and_of_this_process_are_read() -> None:
    session = RoleSession(terms=None, key=None)
    with session.stopwatch.measure("train"):
        pass
    work = read_role("north", session, alone=True, elapsed_s=5.0)
    assert work.seconds.keys() == {"train"}
    assert work.waiting_s == 5.0 - work.seconds["train"]
    assert read_role("north", session).waiting_s == 0.0
    assert work.memory_bytes > 1 << 20
    machine = MachineReader().read()
    assert machine.cores == len(os.sched_getaffinity(0))
    assert machine.peak_memory_bytes > 1 << 20
