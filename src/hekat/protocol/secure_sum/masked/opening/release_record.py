"""One opener's releases, on disk, so that it never opens two sets of one group, even after a restart.

For every group of steps of a job (those that sum the same updates): the digest of the parties in the set, and the names
of the parties of the group (of its sample, where a job has samples) that are not. A second sum in the group, under
another upload number, is allowed for the same parties only: a sum with other parties, less the first, is somebody's
update. For every upload number of a session: the digest of the whole statement.

Another job on the same rows makes the same updates, or nearly so. So the sets are also kept by the rows, under a key of
the record's folder: a job that sums the same rows is held to the sets, and to the parties, of every job before it,
unless the operator says otherwise for this one job. Rows that differ in one row count as other rows, and nothing here
notices a machine restored to an older snapshot.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hekat.atomic_file import overwrite_file, replace_file
from hekat.channel.canonical import encode_fields
from hekat.disk_errors import read_file
from hekat.errors import PolicyError, ProtocolError, StateError
from hekat.protocol.secure_sum.masked.opening.included import IncludedSet, parties_digest_of
from hekat.protocol.secure_sum.masked.opening.release_file import (
    Entry,
    Releases,
    decode_releases,
    encode_releases,
)
from hekat.state.file_lock import locked
from hekat.toml_text import toml_key

OTHER_SUMS_ACCEPTED = "other sums of these rows may tell a party's update"
ROWS_KEY_BYTES = 32
_GROUP_LABEL = b"hekat/release-record/group/1"
_NUMBER_LABEL = b"hekat/release-record/number/1"
_KEY_LABEL = b"hekat/release-record/rows-key/1"
_ROWS_LABEL = b"hekat/release-record/rows/1"
_JOB_LABEL = b"hekat/release-record/job/1"
_PARTIES_LABEL = b"hekat/release-record/parties/1"
_IDENTITIES_LABEL = b"hekat/release-record/identities/1"


@dataclass(frozen=True)
class RowsInJob:
    """A job's use of one site's rows: their digest, the job's parties, and the key under which the record keeps both.

    `identities` are the job's parties by the names that it gives them, each as one word that means the same in every
    job: its key, or where jobs name no keys its name. `accepted`: the operator of `owner` said that in this
    job other parties may be summed than before.
    """

    owner: str
    digest: bytes = field(repr=False)
    identities: Mapping[str, str]
    accepted: bool = False
    key: bytes = field(default=b"", repr=False)


class ReleaseRecord:
    """The record of one opener; made by `create` or `open`. Threads, forks and processes may share the file.

    Not `durable`, it is written in place, and no crash leaves it whole: only for keys that end with the process.
    """

    def __init__(self, path: Path, *, durable: bool = True) -> None:
        self._path = path
        self._write = replace_file if durable else overwrite_file
        # What the file held last, and what that says: a long record is read anew only where somebody else wrote it.
        self._known: tuple[bytes, Releases] | None = None

    @classmethod
    def create(cls, path: Path, *, durable: bool = True) -> ReleaseRecord:
        """A new, empty record. Raises StateError where a file is already there or cannot be written."""
        with locked(path):
            if os.path.lexists(path):
                raise StateError(
                    f"release record {path} is already there",
                    expected="a path where no file is",
                    cure="open it instead; a record is never emptied",
                )
            record = cls(path, durable=durable)
            record._write(path, encode_releases(Releases()))
        return record

    @classmethod
    def open(cls, path: Path, *, durable: bool = True) -> ReleaseRecord:
        """The record at `path`. Raises StateError where it is missing or damaged: neither is taken for an empty one."""
        record = cls(path, durable=durable)
        record._read()
        return record

    def check_key(self, key: bytes | None) -> None:
        """Raise StateError unless `key` (None: there is none) is the one that this record keeps rows under, if any."""
        known = self._read().key_digest
        if known and (key is None or not hmac.compare_digest(known, _digest_of_key(key))):
            raise StateError(
                f"release record {self._path} is under another rows key",
                expected="the key that lay beside it when it was written",
                got="none" if key is None else "another one",
                cure="put both files back as they were: under another key no row of an earlier job is known again",
            )

    def allow(
        self,
        job_digest: bytes,
        parties: Collection[str],
        included: IncludedSet,
        rows: RowsInJob | None = None,
    ) -> None:
        """Note on disk that this opener releases for this set, of the group's `parties`; return only then. The same set
        is allowed again.

        Raises ProtocolError where other parties were released for in this group of this job, or another statement under
        this upload number; PolicyError where other parties were for the same rows in another job; StateError where the
        record cannot be read or written. Then nothing may be released.
        """
        context = included.context
        group_key = _group_key(job_digest, context.group)
        number_key = f"number {_hash(_NUMBER_LABEL, *context.upload_fields)}"
        entry = _set_entry(parties, included)
        single: dict[str, Entry] = {group_key: entry, number_key: (included.digest.hex(),)}

        def allowed(before: Releases) -> Releases:
            if before.single.get(group_key, entry) != entry:
                _refuse(repr(context.group), "the parties that were released for in it")
            if before.single.get(number_key, single[number_key]) != single[number_key]:
                _refuse(f"upload number {context.number}", "the set that was released for under this number")
            after = before.with_single(single)
            if rows is None:
                return after
            if not rows.accepted:
                _check_rows(before, job_digest, rows, {context.group: _rows_digest(rows, included.parties)})
            return _with_rows(after, job_digest, parties, included, rows)

        self._change(allowed)

    def note_upload(self, rows: RowsInJob) -> None:
        """Note on disk that these rows are uploaded in a job of its parties: others may open a sum that has them.

        Raises StateError where the record cannot be read or written.
        """
        self._change(lambda before: _with_parties(before, rows))

    def note_stated(self, job_digest: bytes, parties: Collection[str], included: IncludedSet, rows: RowsInJob) -> None:
        """Note on disk that others may open the sum of this set, of the group's `parties`, which has these rows in it.

        Raises StateError where the record cannot be read or written.
        """
        self._change(lambda before: _with_rows(before, job_digest, parties, included, rows))

    def check_rows(self, job_digest: bytes, rows: RowsInJob, samples: Mapping[str, Collection[str]]) -> None:
        """Raise PolicyError where these rows were released for in another job, with others than all of a group's
        `samples` or in a job of other parties. Groups that this job released in already are its own matter.

        Call it before a run, also where the operator accepted other sums: the result says what was accepted.
        """
        sets = {group: _rows_digest(rows, sample) for group, sample in samples.items()}
        _check_rows(self._read(), job_digest, rows, sets)

    def check_same_rows(self, job_digest: bytes, rows: RowsInJob, groups: Collection[str]) -> None:
        """Raise StateError where this job summed rows of `rows.owner` before, in some of its `groups`, and never these.

        Call it before a run is resumed: another table is cut anew into rows to train on and rows to measure on.
        """
        job, several = _hash(_JOB_LABEL, job_digest), self._read().several
        known = {key for key, entries in several.items() if any(job in entry[1:2] for entry in entries)}
        if known and known.isdisjoint(_rows_key(rows, group) for group in groups):
            raise StateError(
                f"the rows of {rows.owner} are not those that the run began with",
                expected="the same table, with the same columns: rows that were trained on may not be held out later",
                got="a table that no sum of this job was of",
                cure="put the table back as it was, or begin a new run, without --resume",
            )

    def left_out(
        self, job_digest: bytes, groups: Collection[str], rows: RowsInJob | None = None
    ) -> dict[str, list[str]]:
        """For each of these groups that was released for: the parties of the group that were left out, sorted.

        Of other jobs on the same rows those that `check_rows` lets pass: nobody was left out. Raises StateError where
        the record cannot be read.
        """
        releases = self._read()
        found: dict[str, list[str]] = {}
        for group in groups:
            own = releases.single.get(_group_key(job_digest, group))
            if own is not None:
                found[group] = list(own[1:])
            elif rows is not None and not rows.accepted and _rows_key(rows, group) in releases.several:
                found[group] = []
        return found

    def _change(self, change: Callable[[Releases], Releases]) -> None:
        """Write what `change` makes of the record, under one lock; where it raises nothing is written."""
        with locked(self._path):
            before = self._decode(read_file(self._path))
            after = change(before)
            if after != before:
                data = encode_releases(after)
                self._write(self._path, data)
                self._known = data, after

    def _read(self) -> Releases:
        with locked(self._path):
            return self._decode(read_file(self._path))

    def _decode(self, data: bytes) -> Releases:
        if self._known is None or self._known[0] != data:
            self._known = data, decode_releases(data, self._path)
        return self._known[1]


def _set_entry(parties: Collection[str], included: IncludedSet) -> Entry:
    return included.parties_digest.hex(), *sorted(set(parties) - set(included.parties))


def _with_rows(
    releases: Releases, job_digest: bytes, parties: Collection[str], included: IncludedSet, rows: RowsInJob
) -> Releases:
    left_out = sorted(rows.identities[name] for name in set(parties) - set(included.parties))
    entry = (_rows_digest(rows, included.parties), _hash(_JOB_LABEL, job_digest), *left_out)
    several = {_rows_key(rows, included.context.group): entry}
    return _with_parties(releases.with_several(several, _digest_of_key(rows.key)), rows)


def _rows_digest(rows: RowsInJob, parties: Collection[str]) -> str:
    """What a set of the job's parties is known by in other jobs, which may give the same ones other names."""
    return parties_digest_of(rows.identities[name] for name in parties).hex()


def _with_parties(releases: Releases, rows: RowsInJob) -> Releases:
    return releases.with_several({_parties_key(rows): _parties_entry(rows)}, _digest_of_key(rows.key))


def _check_rows(releases: Releases, job_digest: bytes, rows: RowsInJob, sets: Mapping[str, str]) -> None:
    """Raise PolicyError where other parties than `sets`, digests by group, were released for on these rows."""
    known = {group: releases.several.get(_rows_key(rows, group), ()) for group in sets}
    job = _hash(_JOB_LABEL, job_digest)
    # The job may release again for a set that it released for on these rows: the sums tell nothing new.
    ahead = [group for group, entries in known.items() if not any(entry[1] == job for entry in entries)]
    if not ahead:
        return
    own = _parties_entry(rows)
    for _, *names in (entry for entry in releases.several.get(_parties_key(rows), ()) if entry != own):
        here = set(rows.identities.values())
        added, gone = sorted(here - set(names)), sorted(set(names) - here)
        told = [*(f"{name} is new" for name in added), *(f"{name} is not in this one" for name in gone)]
        cure = "take part with the same parties"
        _refuse_rows(job_digest, rows, "may have been opened in a job of other parties", ", ".join(told), cure)
    for group in ahead:
        for digest, _, *names in known[group]:
            if digest != sets[group]:
                lost = f"{', '.join(names)} {'was' if len(names) == 1 else 'were'} lost in that earlier job"
                got, cure = "another sample, or all of them", "take part with the same samples"
                if names:  # the jobs may name the same parties
                    got, cure = f"{lost}, and this one sums all", "resume that job (--resume), not a new one"
                _refuse_rows(job_digest, rows, f"may have been opened for another set in {group!r}", got, cure)


def _refuse_rows(job_digest: bytes, rows: RowsInJob, how: str, got: str, cure: str) -> None:
    raise PolicyError(
        f"sums of the rows of {rows.owner} {how}",
        expected="the same parties in every job on the same rows: the difference of two sums is somebody's update",
        got=got,
        cure=f"{cure}; where the difference may be told, say so in the site file, for this job alone: "
        f"under [{toml_key('party', rows.owner, 'other_sums')}] the line "
        f'"{job_digest.hex()}" = "{OTHER_SUMS_ACCEPTED}"',
    )


def _hash(*fields: bytes) -> str:
    return hashlib.sha256(encode_fields(*fields)).hexdigest()


def _keyed(rows: RowsInJob, *fields: bytes) -> str:
    assert len(rows.key) == ROWS_KEY_BYTES  # of the folder that the record lies in
    return hmac.new(rows.key, encode_fields(*fields, rows.digest), hashlib.sha256).hexdigest()


def _digest_of_key(key: bytes) -> str:
    return _hash(_KEY_LABEL, key)


def _group_key(job_digest: bytes, group: str) -> str:
    return f"group {_hash(_GROUP_LABEL, job_digest, group.encode())}"


def _rows_key(rows: RowsInJob, group: str) -> str:
    return f"rows {_keyed(rows, _ROWS_LABEL, group.encode())}"


def _parties_key(rows: RowsInJob) -> str:
    return f"parties {_keyed(rows, _PARTIES_LABEL)}"


def _parties_entry(rows: RowsInJob) -> Entry:
    names = sorted(rows.identities.values())
    return _hash(_IDENTITIES_LABEL, *(name.encode() for name in names)), *names


def _refuse(what: str, expected: str) -> None:
    raise ProtocolError(
        f"another set was released for in {what}",
        expected=expected,
        got="another set",
        cure="the difference of two sums is somebody's update: go on with the same parties only",
    )
