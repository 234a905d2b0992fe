"""What one opener has released for, on disk, so that it never opens two sets of one group, not after a restart either.

For every group of steps of a job (those that sum the same updates): the digest of the parties in the set, and the names
of the parties of the group (of its sample, where a job has samples) that are not. A second sum in the group, under
another upload number, is allowed for the same parties only: a sum with other parties, less the first, is somebody's
update. For every upload number of a session: the digest of the whole statement. The file is `hekat releases 1`, for
each entry a line "group KEY DIGEST NAME..." or "number KEY DIGEST", key and digest in hex, and a checksum. It says
nothing about a machine that is put back to an older snapshot.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from hekat.channel.canonical import encode_fields
from hekat.errors import ProtocolError, StateError
from hekat.protocol.horizontal.opening.included import IncludedSet
from hekat.state.atomic_file import overwrite_file, replace_file
from hekat.state.disk_errors import disk_errors_as_state_errors, read_file

_TITLE = "hekat releases 1"
_GROUP_LABEL = b"hekat/release-record/group/1"
_NUMBER_LABEL = b"hekat/release-record/number/1"
_HEX_DIGITS = 64
Entry = tuple[str, ...]
"""A digest, and for a group the names of those that are left out."""


class ReleaseRecord:
    """The record of one opener; made by `create` or `open`. Threads, forks and processes may share the file.

    Not `durable`, it is written in place, and no crash leaves it whole: only for keys that end with the process.
    """

    def __init__(self, path: Path, *, durable: bool = True) -> None:
        self._path = path
        self._write = replace_file if durable else overwrite_file

    @classmethod
    def create(cls, path: Path, *, durable: bool = True) -> ReleaseRecord:
        """A new, empty record. Raises StateError where a file is already there or cannot be written."""
        with _locked(path):
            if os.path.lexists(path):
                raise StateError(
                    f"release record {path} is already there",
                    expected="a path where no file is",
                    cure="open it instead; a record is never emptied",
                )
            record = cls(path, durable=durable)
            record._write(path, _encode({}))
        return record

    @classmethod
    def open(cls, path: Path, *, durable: bool = True) -> ReleaseRecord:
        """The record at `path`. Raises StateError where it is missing or damaged: neither is taken for an empty one."""
        with _locked(path):
            _decode(read_file(path), path)
        return cls(path, durable=durable)

    def allow(self, job_digest: bytes, parties: Collection[str], included: IncludedSet) -> None:
        """Note on disk that this set, of the group's `parties`, is released for; return only then. The same set is
        allowed again.

        Raises ProtocolError where other parties were released for in this group of this job, or another statement under
        this upload number; StateError where the record cannot be read or written. Then nothing may be released.
        """
        context = included.context
        group_key = _group_key(job_digest, context.group)
        number_key = f"number {_hash(_NUMBER_LABEL, *context.upload_fields)}"
        left_out = sorted(set(parties) - set(included.parties))
        entries = {
            group_key: (included.parties_digest.hex(), *left_out),
            number_key: (included.digest.hex(),),
        }
        with _locked(self._path):
            known = _decode(read_file(self._path), self._path)
            if known.get(group_key, entries[group_key]) != entries[group_key]:
                _refuse(repr(context.group), "the parties that were released for in it")
            if known.get(number_key, entries[number_key]) != entries[number_key]:
                _refuse(f"upload number {context.number}", "the set that was released for under this number")
            if not entries.items() <= known.items():
                self._write(self._path, _encode({**known, **entries}))

    def left_out(self, job_digest: bytes, groups: Collection[str]) -> dict[str, list[str]]:
        """For those of these groups that were released for: the parties of the group that were not in, sorted.

        Raises StateError where the record cannot be read.
        """
        with _locked(self._path):
            known = _decode(read_file(self._path), self._path)
        keys = {group: _group_key(job_digest, group) for group in groups}
        return {group: list(known[key][1:]) for group, key in keys.items() if key in known}


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Holds `<name>.lock` beside the file, against other processes and other threads."""
    lock_path = path.with_name(path.name + ".lock")
    with disk_errors_as_state_errors(f"{lock_path} cannot be locked"):
        handle = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with disk_errors_as_state_errors(f"{lock_path} cannot be locked"):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _hash(*fields: bytes) -> str:
    return hashlib.sha256(encode_fields(*fields)).hexdigest()


def _group_key(job_digest: bytes, group: str) -> str:
    return f"group {_hash(_GROUP_LABEL, job_digest, group.encode())}"


def _encode(entries: Mapping[str, Entry]) -> bytes:
    lines = (_TITLE, *(" ".join((key, *entry)) for key, entry in entries.items()))
    body = "".join(f"{line}\n" for line in lines)
    return f"{body}{hashlib.sha256(body.encode()).hexdigest()}\n".encode()


def _decode(data: bytes, path: Path) -> dict[str, Entry]:
    lines = data.split(b"\n")[1:-2]
    try:
        fields = [line.decode().split(" ") for line in lines]
        entries = {f"{kind} {key}": (digest, *names) for kind, key, digest, *names in fields}
    except ValueError:
        fields, entries = [], {}
    whole = all(
        kind in ("group", "number") and len(key) == len(digest) == _HEX_DIGITS for kind, key, digest, *_ in fields
    )
    if not whole or _encode(entries) != data:
        raise StateError(
            f"release record {path} is damaged",
            expected="the file as it was written",
            got=f"{len(data)} bytes that do not hold together",
            cure="release nothing more in this job: begin a new one, with a new record",
        )
    return entries


def _refuse(what: str, expected: str) -> None:
    raise ProtocolError(
        f"another set was released for in {what}",
        expected=expected,
        got="another set",
        cure="the difference of two sums is somebody's update: go on with the same parties only, or begin a new job "
        "with another training.seed",
    )
