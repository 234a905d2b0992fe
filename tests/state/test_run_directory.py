"""Run folders are never shared or written over; event lines are whole JSON."""

from __future__ import annotations

import errno
import json
import re
import secrets
import stat
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest

from hekat.errors import InputError, StateError
from hekat.state import EventLog, create_named_run_directory, create_run_directory, is_run_id

NOON = datetime(2026, 3, 1, 13, 0, 5, tzinfo=timezone(timedelta(hours=1)))


def test_the_id_is_utc_time_and_a_random_end(tmp_path: Path) -> None:
    run = create_run_directory(tmp_path / "deep" / "runs", now=NOON)
    assert re.fullmatch(r"20260301T120005Z-[0-9a-f]{6}", run.run_id)
    assert run.path == tmp_path / "deep" / "runs" / run.run_id
    assert list(run.path.iterdir()) == []
    assert is_run_id(run.run_id)
    assert not any(map(is_run_id, (run.run_id.lower(), f"{run.run_id}\n", run.run_id[1:], "", None, 3)))


def test_a_runs_folder_and_events_are_for_their_owner_alone(tmp_path: Path) -> None:
    named = create_named_run_directory(tmp_path, "20260301T120005Z-abcdef")
    for run in (named, create_run_directory(tmp_path, now=NOON)):
        with EventLog(run.path / "events.jsonl"):
            assert stat.S_IMODE(run.path.stat().st_mode) == 0o700
            assert stat.S_IMODE((run.path / "events.jsonl").stat().st_mode) == 0o600


def test_runs_of_the_same_second_have_folders_of_their_own(tmp_path: Path) -> None:
    assert len({create_run_directory(tmp_path, now=NOON).path for _ in range(50)}) == 50


def test_a_taken_name_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = iter(["aaaaaa", "aaaaaa", "bbbbbb"])
    monkeypatch.setattr(secrets, "token_hex", lambda _: next(ends))
    first = create_run_directory(tmp_path, now=NOON)
    (first.path / "model").write_bytes(b"kept")
    assert create_run_directory(tmp_path, now=NOON).run_id.endswith("bbbbbb")
    assert (first.path / "model").read_bytes() == b"kept"


def test_when_every_name_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "token_hex", lambda _: "aaaaaa")
    create_run_directory(tmp_path, now=NOON)
    with pytest.raises(StateError, match="a name that is free"):
        create_run_directory(tmp_path, now=NOON)


def test_a_root_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "runs").write_bytes(b"")
    with pytest.raises(StateError, match="no run folder can be made"):
        create_run_directory(tmp_path / "runs")


def test_events_are_json_lines_readable_at_once(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with EventLog(path) as log:
        log.write("round", number=np.int64(1), loss=np.float64(0.25), bounds={"weight": 0.5}, text="ünï\nline")
        assert json.loads(path.read_text("utf-8"))["loss"] == 0.25
        log.write("diverged", loss=float("nan"), losses=[float("inf"), 1.0])
    lines = [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
    assert [line["event"] for line in lines] == ["round", "diverged"]
    assert lines[0]["number"] == 1
    assert lines[0]["text"] == "ünï\nline"
    assert lines[1]["loss"] is None
    assert lines[1]["losses"] == [None, 1.0]
    assert all(datetime.fromisoformat(line["time"]).utcoffset() == timedelta(0) for line in lines)


def test_threads_never_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with EventLog(path) as log:
        threads = [
            threading.Thread(target=lambda n=number: [log.write("e", party=n, i=i, pad="x" * 500) for i in range(50)])
            for number in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted((line["party"], line["i"]) for line in found) == [(n, i) for n in range(6) for i in range(50)]


def test_an_event_log_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text("old\n")
    with pytest.raises(StateError, match="is already there and is not overwritten"):
        EventLog(path)
    assert path.read_text() == "old\n"


def test_a_run_that_has_ended_takes_further_events_after_its_own(
    tmp_path: Path, file_size_limit: Callable[[int], AbstractContextManager[None]]
) -> None:
    path = tmp_path / "events.jsonl"
    with pytest.raises(StateError, match="cannot be opened"):
        EventLog(path, is_new=False)
    assert not path.exists()
    with EventLog(path) as log:
        log.write("finished", pad="x" * 500)
    with EventLog(path, is_new=False) as log:
        with file_size_limit(1000), pytest.raises(StateError, match="File too large"):
            log.write("too long", pad="x" * 500)
        log.write("unwatched")
    assert [json.loads(line)["event"] for line in path.read_text().splitlines()] == ["finished", "unwatched"]


def test_what_is_no_json_is_refused_whole(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with EventLog(path) as log:
        with pytest.raises(InputError, match="event bad cannot be written"):
            log.write("bad", value=object())
        with pytest.raises(InputError, match="sets its own time"):
            log.write("bad", time="now")
    assert path.read_bytes() == b""
    with pytest.raises(StateError, match="is closed"):
        log.write("late")
    log.close()


def test_a_real_limit_leaves_whole_lines(
    tmp_path: Path, file_size_limit: Callable[[int], AbstractContextManager[None]]
) -> None:
    path = tmp_path / "events.jsonl"
    with EventLog(path) as log:
        with file_size_limit(1000):
            log.write("first", pad="x" * 500)
            with pytest.raises(StateError, match="File too large"):
                log.write("second", pad="x" * 500)
            log.write("third")
        log.write("fourth")
    assert [json.loads(line)["event"] for line in path.read_text().splitlines()] == ["first", "third", "fourth"]


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_full_disk_says_so(tmp_path: Path, call: str, failing_call: Callable[[str, int], None]) -> None:
    log = EventLog(tmp_path / "events.jsonl")
    failing_call(call, errno.ENOSPC)
    with pytest.raises(StateError, match="free some space"):
        log.write("event") if call == "write" else log.close()
    assert (tmp_path / "events.jsonl").read_bytes() == b""
    assert [entry.name for entry in tmp_path.iterdir()] == ["events.jsonl"]
