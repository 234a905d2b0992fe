"""The record allows one set a group and one statement an upload number, whatever restarts, forks or breaks."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hekat.errors import ProtocolError, StateError
from hekat.protocol.secure_sum.masked.opening.included import IncludedSet, IncludedUpload
from hekat.protocol.secure_sum.masked.opening.release_record import ReleaseRecord
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext

JOB = b"j" * 32
CONTEXT = UploadContext(b"s" * 32, 7, "round-1", "A16-16")


def included(parties: str, content: bytes = b"d", **context: Any) -> IncludedSet:
    uploads = tuple(IncludedUpload(party, content * 32, (), b"") for party in parties)
    return IncludedSet(replace(CONTEXT, **context), uploads)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "releases"


def test_another_set_of_a_group_is_refused_and_the_same_allowed_for_ever(path: Path) -> None:
    ReleaseRecord.create(path).allow(JOB, "abcde", included("abc"))
    for _ in range(2):
        record = ReleaseRecord.open(path)
        record.allow(JOB, "abcde", included("abc"))
        record.allow(JOB, "abcde", included("abc", b"e", number=8))
        record.allow(JOB, "abcde", included("abc", b"f", number=7, session_id=b"t" * 32))
        for other in ("ab", "abcd", "abd"):
            for number in (7, 8, 9):
                with pytest.raises(ProtocolError, match="in 'round-1'"):
                    record.allow(JOB, "abcde", included(other, number=number))


def test_another_statement_under_one_number_is_refused(path: Path) -> None:
    record = ReleaseRecord.create(path)
    record.allow(JOB, "abcde", included("abc"))
    with pytest.raises(ProtocolError, match="upload number 7"):
        record.allow(JOB, "abcde", included("abc", b"e"))
    with pytest.raises(ProtocolError, match="upload number 7"):
        record.allow(JOB, "abcde", included("abc", step="round-2"))


def test_other_steps_and_jobs_are_other_matters(path: Path) -> None:
    record = ReleaseRecord.create(path)
    record.allow(JOB, "abcde", included("abc"))
    record.allow(JOB, "abcde", included("ab", number=8, step="round-2"))
    record.allow(b"k" * 32, "abcde", included("ab", number=9))
    # Each is noted beside the others, and held to.
    kept = [(JOB, "round-1", "abc", "ab"), (JOB, "round-2", "ab", "abc"), (b"k" * 32, "round-1", "ab", "abc")]
    for number, (job, step, first, other) in enumerate(kept, 10):
        again = ReleaseRecord.open(path)
        again.allow(job, "abcde", included(first, number=number, step=step))
        with pytest.raises(ProtocolError, match=f"in '{step}'"):
            again.allow(job, "abcde", included(other, number=number + 3, step=step))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("standardise/mean", "standardise/variance"),
        ("standardise/scale", "standardise/mean"),
        ("round-3/exponents", "round-3"),
    ],
)
def test_sums_of_the_same_updates_are_of_the_same_parties(first: str, second: str, path: Path) -> None:
    record = ReleaseRecord.create(path)
    record.allow(JOB, "abcde", included("abcd", step=first))
    for parties in ("abc", "abcde", "abce"):
        with pytest.raises(ProtocolError, match=f"in '{first.split('/')[0]}'"):
            ReleaseRecord.open(path).allow(JOB, "abcde", included(parties, b"e", number=8, step=second))
    record.allow(JOB, "abcde", included("abcd", b"e", number=8, step=second))
    # A name that only begins alike is another group.
    record.allow(JOB, "abcde", included("abc", b"f", number=9, step="round-33"))


def test_a_refusal_changes_nothing(path: Path) -> None:
    record = ReleaseRecord.create(path)
    record.allow(JOB, "abcde", included("abc"))
    before = path.read_bytes()
    with pytest.raises(ProtocolError):
        record.allow(JOB, "abcde", included("ab", number=8))
    assert path.read_bytes() == before
    record.allow(JOB, "abcde", included("abcd", number=8, step="round-2"))


def test_the_entry_is_on_disk_before_the_call_returns(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = ReleaseRecord.create(path)

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(StateError):
            record.allow(JOB, "abcde", included("abc"))
    # Nothing was released, so another set is still free.
    record.allow(JOB, "abcde", included("abd"))
    with pytest.raises(ProtocolError):
        ReleaseRecord.open(path).allow(JOB, "abcde", included("abc"))


def test_of_two_sets_at_once_one_is_allowed(path: Path) -> None:
    ReleaseRecord.create(path)
    allowed: list[str] = []

    def attempt(parties: str) -> None:
        try:
            ReleaseRecord.open(path).allow(JOB, "abcde", included(parties))
        except ProtocolError:
            return
        allowed.append(parties)

    threads = [threading.Thread(target=attempt, args=(parties,)) for parties in ("abc", "abd", "abe", "abf") * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(allowed)) == 1
    assert len(allowed) == 3


def test_a_fork_is_held_to_what_its_parent_released(path: Path) -> None:
    record = ReleaseRecord.create(path)
    child = os.fork()
    if child == 0:
        try:
            record.allow(JOB, "abcde", included("abc"))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    with pytest.raises(ProtocolError):
        record.allow(JOB, "abcde", included("abd"))


def test_a_missing_or_existing_file_is_never_taken_for_an_empty_record(path: Path) -> None:
    with pytest.raises(StateError):
        ReleaseRecord.open(path)
    record = ReleaseRecord.create(path)
    with pytest.raises(StateError, match="never emptied"):
        ReleaseRecord.create(path)
    path.unlink()
    with pytest.raises(StateError):
        record.allow(JOB, "abcde", included("abc"))


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[:40],
        lambda data: data.replace(b" 2\n", b" 3\n", 1),
        lambda data: data.replace(b" 2\n", b" 1\n", 1),
        lambda data: data[:30] + bytes([data[30] ^ 1]) + data[31:],
        lambda data: data + b"\n",
        lambda data: b"\n".join(data.split(b"\n")[:1] + data.split(b"\n")[2:]),
        lambda data: b"\xff" + data,
    ],
)
def test_a_damaged_record_is_refused(path: Path, damage: Callable[[bytes], bytes]) -> None:
    record = ReleaseRecord.create(path)
    record.allow(JOB, "abcde", included("abc"))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(StateError, match="damaged"):
        ReleaseRecord.open(path)
    with pytest.raises(StateError, match="damaged"):
        record.allow(JOB, "abcde", included("abc"))


def test_the_file_is_its_owners_alone(path: Path) -> None:
    ReleaseRecord.create(path).allow(JOB, "abcde", included("abc"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_it_tells_who_was_left_out_of_which_group_of_its_job(path: Path) -> None:
    record = ReleaseRecord.create(path)
    record.allow(JOB, "edcba", included("abc"))
    record.allow(JOB, "abcde", included("abcde", number=8, step="round-2"))
    record.allow(JOB, "abcde", included("abde", number=9, step="round-3/exponents"))
    record.allow(b"k" * 32, "abcde", included("bcde", number=10, step="round-4"))
    groups = ("standardise", "round-1", "round-2", "round-3", "round-4", "round-33")
    for now in (record, ReleaseRecord.open(path)):
        assert now.left_out(JOB, groups) == {"round-1": ["d", "e"], "round-2": [], "round-3": ["c"]}
        assert now.left_out(JOB, groups[3:]) == {"round-3": ["c"]}


@pytest.mark.parametrize("line", ["group {}", "step {} {}", "{} {}", "number {} 0", "number 0 {}", ""])
def test_other_entries_are_damage_whatever_the_checksum_says(line: str, path: Path) -> None:
    body = f"hekat releases 1\n{line.format('0' * 64, '1' * 64)}\n".encode()
    path.write_bytes(body + hashlib.sha256(body).hexdigest().encode() + b"\n")
    with pytest.raises(StateError, match="damaged"):
        ReleaseRecord.open(path)


def test_a_record_that_somebody_else_wrote_meanwhile_is_read_anew(path: Path) -> None:
    record = ReleaseRecord.create(path)
    record.allow(JOB, "abcde", included("abc"))
    ReleaseRecord.open(path).allow(JOB, "abcde", included("abd", number=8, step="round-2"))
    with pytest.raises(ProtocolError, match="in 'round-2'"):
        record.allow(JOB, "abcde", included("abc", number=9, step="round-2"))
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"group", b"grouq", 1))
    with pytest.raises(StateError, match="damaged"):
        record.allow(JOB, "abcde", included("abc"))
    path.write_bytes(whole)
    record.allow(JOB, "abcde", included("abc"))
