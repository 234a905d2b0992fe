"""A role's files that keep it from using an upload number twice and from opening two sets of one group of steps.

A counter of upload numbers, a record of releases, and the key under which the record knows rows again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import InputError, PolicyError, ProtocolError, StateError
from hekat.protocol.secure_sum.masked.altered_record import ALTERED_FILES, AlteredRecord
from hekat.protocol.secure_sum.masked.opening.included import IncludedSet
from hekat.protocol.secure_sum.masked.opening.member_record import MEMBER_FILES, MemberRecord
from hekat.protocol.secure_sum.masked.opening.release_record import ReleaseRecord, RowsInJob
from hekat.protocol.secure_sum.masked.rows_key import ROWS_KEY_FILE, make_rows_key, read_rows_key
from hekat.state import Counter

UPLOADS_FILE = "uploads.counter"
RELEASES_FILE = "releases.record"
# The most numbers that one upload may skip, so that no other role can use up a party's 2^63 numbers.
MAX_SKIPPED = 1 << 32


@dataclass(frozen=True)
class UploadState:
    """A role's open counter of upload numbers and its records of releases and of members, for runs of one job.

    `rows`: of this job, where the record is to recognise them in another job. `with_run`: the files lie with the run,
    or go with it, so that another run knows nothing of this one.
    """

    uploads: Counter
    releases: ReleaseRecord
    job_digest: bytes
    altered: AlteredRecord
    members: MemberRecord
    rows: RowsInJob | None = None
    with_run: bool = False

    def check(self, samples: Mapping[str, Collection[str]]) -> str:
        """The sums that the operator had to accept; empty where there are none. `samples` are the parties by group
        ahead.

        Raises PolicyError, as `ReleaseRecord.check_rows`, where it is needed and was not given.
        """
        if self.rows is None:
            return ""
        try:
            self.releases.check_rows(self.job_digest, self.rows, samples)
        except PolicyError as error:
            if not self.rows.accepted:
                raise
            return f"{error.what}: {error.got}"
        return ""

    def allow(self, parties: Collection[str], included: IncludedSet) -> None:
        """Note on disk that this set is released for; return only then. Raises as `ReleaseRecord.allow`."""
        if self.uploads.next_value == 0:
            # A role that takes no numbers: above 0 the counter says that there was a record.
            self.uploads.next()
        self.releases.allow(self.job_digest, parties, included, self.rows)

    def note_upload(self) -> None:
        """Note on disk the parties of the job that this role's rows are about to be uploaded in; return only then."""
        if self.rows is not None:
            self.releases.note_upload(self.rows)

    def note_stated(self, parties: Collection[str], included: IncludedSet) -> None:
        """Note on disk that others may open this set's sum, of a group's `parties`; return only then.

        A role that opens nothing in this job may be asked to in the next one.
        """
        if self.rows is not None:
            self.releases.note_stated(self.job_digest, parties, included, self.rows)

    def note_altered(self, step: str) -> None:
        """Note on disk that a sum of the job was altered: this role takes part in no further run of it."""
        self.altered.note(step)

    def has_released(self, groups: Collection[str]) -> bool:
        """Whether this role released in one of these groups of this job, whatever other jobs did."""
        return bool(self.releases.left_out(self.job_digest, groups))

    def left_out(self, groups: Collection[str]) -> dict[str, list[str]]:
        """As `ReleaseRecord.left_out`, of this job and its rows."""
        return self.releases.left_out(self.job_digest, groups, self.rows)


def first_upload_number(next_numbers: Mapping[str, int]) -> int:
    """The least upload number that no party has used, from the parties' own statements, by name.

    Raises InputError, naming the party, for a number more than MAX_SKIPPED above the least one.
    """
    least = max(0, min(next_numbers.values()))
    for party, number in next_numbers.items():
        if not 0 <= number <= least + MAX_SKIPPED:
            raise InputError(
                f"party {party} states an upload number that cannot be",
                expected=f"at most 2^32 above the others' {least}",
                got=str(number),
                cure="find out what runs at that party, or whose state folder it has",
            )
    return max(next_numbers.values())


def take_upload_number(uploads: Counter, number: int) -> None:
    """Use up the number in the counter's file: no restart takes it again.

    Raises ProtocolError where it lies more than MAX_SKIPPED above the last one, StateError as `Counter.take`.
    """
    if number > uploads.next_value + MAX_SKIPPED:
        raise ProtocolError(
            "the aggregator begins an upload with a number far above the last",
            expected="at most 2^32 above",
            got=str(number),
            cure="ask the aggregator's operator, or whoever stated such a number",
        )
    uploads.take(number)


def open_upload_state(
    folder: Path, job_digest: bytes, rows: RowsInJob | None = None, *, durable: bool = True, with_run: bool = False
) -> UploadState:
    """The state in `folder`, made where there is none. Close `uploads` at the end.

    The key of `rows` is the folder's own, made where there is none. `durable` False does not wait for the disk, for a
    folder that no process opens after this one.

    Raises StateError where a file is missing or damaged, also where only later files are there, where another run has
    them open, or a sum of the job was altered. A counter at 0 without a record is new: the counter is made first, and
    nothing is released before it is above 0.
    """
    check_not_emptied(folder)
    altered = AlteredRecord(folder, job_digest, durable=durable)
    altered.check()
    with disk_errors_as_state_errors(f"the state folder {folder} cannot be made"):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    counter_path, record_path = folder / UPLOADS_FILE, folder / RELEASES_FILE
    is_new = not counter_path.exists() and not record_path.exists()
    uploads = (Counter.create if is_new else Counter.open)(counter_path, durable=durable)
    try:
        has_none = uploads.next_value == 0 and not record_path.exists()
        releases = (ReleaseRecord.create if has_none else ReleaseRecord.open)(record_path, durable=durable)
        if rows is not None:
            key = read_rows_key(folder)
            releases.check_key(key)
            rows = replace(rows, key=key or make_rows_key(folder))
    except BaseException:
        uploads.close()
        raise
    members = MemberRecord(folder, job_digest, durable=durable)
    return UploadState(uploads, releases, job_digest, altered, members, rows, with_run)


def check_not_emptied(folder: Path) -> None:
    """Raise StateError where the record of releases is missing, but files are there that are only written after it."""
    with disk_errors_as_state_errors(f"the state in {folder} cannot be read"):
        if (folder / RELEASES_FILE).exists():
            return
        later = sorted(path.name for name in (ROWS_KEY_FILE, MEMBER_FILES, ALTERED_FILES) for path in folder.glob(name))
    if later:
        raise StateError(
            f"the state in {folder} is not whole",
            expected=f"{UPLOADS_FILE} and {RELEASES_FILE} beside {', '.join(later)}",
            got=f"no {RELEASES_FILE}",
            cure="put the folder back as the last run left it; without it nobody knows what was opened",
        )


def check_upload_state(
    folder: Path, job_digest: bytes, rows: RowsInJob | None, samples: Mapping[str, Collection[str]]
) -> None:
    """Raise as `open_upload_state` and `UploadState.check` of a state that is there, and write nothing."""
    AlteredRecord(folder, job_digest).check()
    with Counter.open(folder / UPLOADS_FILE):
        releases, key = ReleaseRecord.open(folder / RELEASES_FILE), read_rows_key(folder)
        releases.check_key(key)
        # Without a key no rows were kept yet.
        if rows is not None and key is not None and not rows.accepted:
            releases.check_rows(job_digest, replace(rows, key=key), samples)


def check_same_rows(folder: Path, job_digest: bytes, rows: RowsInJob, groups: Collection[str]) -> None:
    """Raise as `ReleaseRecord.check_same_rows` of a state that is there; a record that keeps no rows allows any."""
    key = read_rows_key(folder)
    if key is not None:
        ReleaseRecord.open(folder / RELEASES_FILE).check_same_rows(job_digest, replace(rows, key=key), groups)
