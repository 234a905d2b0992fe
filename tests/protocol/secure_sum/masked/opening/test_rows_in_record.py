"""The record knows rows again in another job, under a key of its folder, and holds that job to what was opened."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hekat.errors import PolicyError, ProtocolError, StateError
from hekat.protocol.secure_sum.masked.opening.included import IncludedSet, IncludedUpload
from hekat.protocol.secure_sum.masked.opening.release_record import OTHER_SUMS_ACCEPTED, ReleaseRecord, RowsInJob
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext
from hekat.protocol.secure_sum.masked.upload_state import (
    RELEASES_FILE,
    check_not_emptied,
    check_upload_state,
    open_upload_state,
)

FIRST, SECOND, THIRD = b"1" * 32, b"2" * 32, b"3" * 32
ROWS = RowsInJob("north", b"r" * 32, dict(zip("abcde", "abcde", strict=True)), key=b"k" * 32)
OTHER_ROWS = replace(ROWS, digest=b"s" * 32)
CONTEXT = UploadContext(b"s" * 32, 7, "round-1", "A16-16")


def included(parties: str, number: int = 7, step: str = "round-1") -> IncludedSet:
    uploads = tuple(IncludedUpload(party, b"d" * 32, (), b"") for party in parties)
    return IncludedSet(replace(CONTEXT, number=number, step=step), uploads)


def in_job(parties: str) -> RowsInJob:
    return replace(ROWS, identities={name: name for name in parties})


@pytest.fixture
def record(tmp_path: Path) -> ReleaseRecord:
    return ReleaseRecord.create(tmp_path / "releases")


def refused(record: ReleaseRecord, job: bytes, parties: str, rows: RowsInJob = ROWS, **context: Any) -> PolicyError:
    before = record._path.read_bytes()
    with pytest.raises(PolicyError) as caught:
        record.allow(job, tuple(rows.identities), included(parties, 9, **context), rows)
    assert record._path.read_bytes() == before
    return caught.value


def test_another_job_on_the_same_rows_is_held_to_the_sets_of_the_first(record: ReleaseRecord) -> None:
    record.allow(FIRST, "abcde", included("abcd"), ROWS)
    reopened = ReleaseRecord.open(record._path)
    for parties in ("abcde", "abce", "abc"):
        error = refused(reopened, SECOND, parties)
        assert error.what == "sums of the rows of north may have been opened for another set in 'round-1'"
        assert error.got == "e was lost in that earlier job, and this one sums all"
        assert "same parties" not in error.cure
    refused(reopened, SECOND, "abcde", step="round-1/exponents")
    reopened.allow(SECOND, "abcde", included("abcd", 8), ROWS)
    reopened.allow(SECOND, "abcde", included("abcde", 9, "round-2"), ROWS)
    # Other rows are another matter, in another job; in the same job they are not.
    reopened.allow(THIRD, "abcde", included("abc", 10), OTHER_ROWS)
    with pytest.raises(ProtocolError, match="in 'round-1'"):
        reopened.allow(FIRST, "abcde", included("abc", 11), OTHER_ROWS)


def test_another_job_has_the_same_parties(record: ReleaseRecord) -> None:
    record.allow(FIRST, "abcde", included("abcd"), ROWS)
    assert refused(record, SECOND, "abcd", in_job("abcd")).got == "e is not in this one"
    assert refused(record, SECOND, "abcd", in_job("abcdf")).got == "f is new, e is not in this one"
    assert "a job of other parties" in refused(record, SECOND, "abcd", in_job("abcd"), step="round-9").what
    record.allow(SECOND, "edcba", included("abcd", 8), in_job("edcba"))


def test_a_name_with_another_key_is_another_party(record: ReleaseRecord) -> None:
    record.allow(FIRST, "abc", included("abc"), replace(ROWS, identities={"a": "1", "b": "2", "c": "3"}))
    error = refused(record, SECOND, "abc", replace(ROWS, identities={"a": "1", "b": "2", "c": "4"}))
    assert error.got == "4 is new, 3 is not in this one"


def test_parties_that_exchanged_their_names_are_other_parties_in_a_set(record: ReleaseRecord) -> None:
    """The job names the same keys; what it calls without d is a set without the party that was e."""
    keys = dict(zip("abcde", "12345", strict=True))
    exchanged = keys | {"d": keys["e"], "e": keys["d"]}
    record.allow(FIRST, "abcde", included("abcd"), replace(ROWS, identities=keys))
    error = refused(record, SECOND, "abcd", replace(ROWS, identities=exchanged))
    assert error.what.endswith("for another set in 'round-1'")
    assert error.got == "5 was lost in that earlier job, and this one sums all"
    with pytest.raises(PolicyError):
        record.check_rows(SECOND, replace(ROWS, identities=exchanged), {"round-1": "abcd"})
    # The same set under its new names is the same.
    record.check_rows(SECOND, replace(ROWS, identities=exchanged), {"round-1": "abce"})
    record.allow(SECOND, "abcde", included("abce", 8), replace(ROWS, identities=exchanged))


def test_the_operators_word_is_for_one_job(record: ReleaseRecord) -> None:
    record.allow(FIRST, "abcde", included("abcde"), ROWS)
    error = refused(record, SECOND, "abcd", in_job("abcd"))
    assert f'[party.north.other_sums] the line "{SECOND.hex()}" = "{OTHER_SUMS_ACCEPTED}"' in error.cure
    record.allow(SECOND, "abcd", included("abcd", 8), replace(in_job("abcd"), accepted=True))
    # Within the job it is not for, and within the job that it is for, one set a group stays.
    with pytest.raises(ProtocolError):
        record.allow(SECOND, "abcd", included("abc", 9), replace(in_job("abcd"), accepted=True))
    for parties in ("abcde", "abcd"):
        refused(record, THIRD, parties, in_job(parties))
    # What a job released for it may again, with its own rows and set.
    record.allow(FIRST, "abcde", included("abcde", 10), ROWS)
    refused(record, FIRST, "abcde", step="round-2")


def test_a_job_is_held_against_its_rows_and_not_those_it_had_before(record: ReleaseRecord) -> None:
    """Its rows are changed to those that another job summed without e: its own old entry allows nothing then."""
    record.allow(FIRST, "abcde", included("abcde"), ROWS)
    record.allow(SECOND, "abcde", included("abcd", 8), OTHER_ROWS)
    refused(record, FIRST, "abcde", OTHER_ROWS)


def test_a_run_is_checked_before_it_begins(record: ReleaseRecord) -> None:
    record.allow(FIRST, "abcde", included("abcde"), ROWS)
    record.allow(FIRST, "abcde", included("abcd", 8, "round-2"), ROWS)
    record.check_rows(SECOND, ROWS, {"round-1": "abcde", "round-3": "abcde"})
    record.check_rows(FIRST, ROWS, {"round-1": "abcde", "round-2": "abcde"})
    with pytest.raises(PolicyError, match="in 'round-2'"):
        record.check_rows(SECOND, ROWS, {"round-1": "abcde", "round-2": "abcde"})
    with pytest.raises(PolicyError, match="another sample"):
        record.check_rows(SECOND, ROWS, {"round-1": "abc"})
    for rows in (in_job("abcd"), replace(in_job("abcd"), accepted=True)):
        with pytest.raises(PolicyError, match="other parties"):
            record.check_rows(SECOND, rows, {"round-7": "abcd"})
    record.check_rows(SECOND, in_job("abcd"), {})


def test_sets_of_other_jobs_are_told_to_the_aggregator(record: ReleaseRecord) -> None:
    record.allow(FIRST, "abcde", included("abcde"), ROWS)
    groups = ("round-1", "round-2")
    assert record.left_out(SECOND, groups, ROWS) == {"round-1": []}
    assert record.left_out(SECOND, groups, OTHER_ROWS) == record.left_out(SECOND, groups) == {}
    assert record.left_out(SECOND, groups, replace(ROWS, accepted=True)) == {}


def test_what_others_may_open_counts_as_much(record: ReleaseRecord) -> None:
    record.note_stated(FIRST, "abcde", included("abcde"), ROWS)
    assert refused(record, SECOND, "abcd").what.endswith("for another set in 'round-1'")
    assert refused(record, SECOND, "abcd", in_job("abcd")).what.endswith("in a job of other parties")
    # In the same job, where nothing was released here, the group is still free to be released for.
    record.allow(FIRST, "abcde", included("abcd", 9), ROWS)


def test_an_upload_binds_its_rows_to_the_parties_of_its_job(record: ReleaseRecord) -> None:
    """Whoever holds the sum back tells nobody for whom it was opened."""
    record.note_upload(ROWS)
    written = record._path.read_bytes()
    record.note_upload(ROWS)
    assert record._path.read_bytes() == written
    record = ReleaseRecord.open(record._path)
    assert refused(record, SECOND, "abcd", in_job("abcd")).got == "e is not in this one"
    record.check_rows(SECOND, ROWS, {"round-1": "abcde"})
    record.check_rows(SECOND, replace(in_job("abcd"), digest=b"s" * 32), {"round-1": "abcd"})


def test_the_record_alone_confirms_no_guess_of_rows(record: ReleaseRecord) -> None:
    """Everything but the key is known to who tests a guess; names of parties are public."""
    record.allow(FIRST, "abcde", included("abcde"), ROWS)
    other = ReleaseRecord.create(record._path.with_name("other"))
    other.allow(FIRST, "abcde", included("abcde"), replace(ROWS, key=b"l" * 32))
    kept = [set(path.read_text().split()) for path in (record._path, other._path)]
    rows = [
        {line.split()[1] for line in one._path.read_text().splitlines() if line[:4] in ("rows", "part")}
        for one in (record, other)
    ]
    assert rows[0]
    assert rows[0].isdisjoint(rows[1])
    for words in kept:
        assert words.isdisjoint({ROWS.digest.hex(), hashlib.sha256(ROWS.digest).hexdigest(), ROWS.key.hex()})


def test_a_record_of_an_older_release_is_read_and_goes_on(tmp_path: Path) -> None:
    lines = [f"group {'0' * 64} {'1' * 64} d", f"number {'2' * 64} {'3' * 64}"]
    body = "\n".join(["hekat releases 1", *lines, ""]).encode()
    path = tmp_path / "releases"
    path.write_bytes(body + hashlib.sha256(body).hexdigest().encode() + b"\n")
    record = ReleaseRecord.open(path)
    record.check_key(None)
    record.allow(FIRST, "abcde", included("abcde"), ROWS)
    written = path.read_text().splitlines()
    assert written[0] == "hekat releases 2"
    assert set(lines) <= set(written)
    ReleaseRecord.open(path).check_key(ROWS.key)
    refused(record, SECOND, "abcd")


@pytest.mark.parametrize(
    "lines",
    [
        ["rows {0} {1} {1}"],
        ["key {0}", "rows {0} {1}"],
        ["key {0}", "rows {0} {1} d"],
        ["key {0}", "key {0}"],
        ["key {0} {1}"],
        ["key {0}", "parties {0}"],
        ["key {0}", "rows {0} {1} {1}", "rows {0} {1} {1}"],
        ["group {0} {1}", "group {0} {0}"],
        ["key x"],
    ],
)
def test_lines_that_no_release_writes_are_damage_whatever_the_checksum_says(lines: list[str], tmp_path: Path) -> None:
    path = tmp_path / "releases"
    body = "".join(f"{line}\n" for line in ["hekat releases 2", *lines]).format("0" * 64, "1" * 64).encode()
    path.write_bytes(body + hashlib.sha256(body).hexdigest().encode() + b"\n")
    with pytest.raises(StateError, match="damaged"):
        ReleaseRecord.open(path)


def make_state(folder: Path) -> bytes:
    """A state in which something was opened; its key."""
    state = open_upload_state(folder, FIRST, ROWS)
    with state.uploads:
        state.allow("abcde", included("abcde"))
    assert state.rows is not None
    return state.rows.key


def test_each_folder_has_a_key_of_its_own_for_its_owner_alone(tmp_path: Path) -> None:
    keys = {make_state(tmp_path / name) for name in "abc"}
    assert len(keys) == 3
    assert oct((tmp_path / "a" / "rows.key").stat().st_mode & 0o777) == "0o600"
    with open_upload_state(tmp_path / "a", SECOND, in_job("abcd")).uploads:
        pass
    with pytest.raises(PolicyError):
        check_upload_state(tmp_path / "a", SECOND, in_job("abcd"), {"round-1": "abcd"})


@pytest.mark.parametrize("change", ["gone", "another's", "damaged", "empty"])
def test_under_another_key_nothing_is_opened(change: str, tmp_path: Path) -> None:
    make_state(tmp_path / "a")
    make_state(tmp_path / "b")
    path = tmp_path / "a" / "rows.key"
    data = {
        "another's": (tmp_path / "b" / "rows.key").read_bytes(),
        "damaged": path.read_bytes()[:-9] + b"00000000\n",
        "empty": b"",
    }
    path.unlink() if change == "gone" else path.write_bytes(data[change])
    for _ in range(2):
        with pytest.raises(StateError) as caught:
            open_upload_state(tmp_path / "a", SECOND, ROWS)
        with pytest.raises(StateError):
            check_upload_state(tmp_path / "a", SECOND, ROWS, {})
    assert "no row of an earlier job is known again" in str(caught.value)
    assert path.exists() == (change != "gone")


@pytest.mark.parametrize("left", ["rows.key", "members-*.record", "altered-*.record"])
@pytest.mark.parametrize("lost", [("releases.record",), ("releases.record", "uploads.counter")])
def test_a_folder_that_lost_its_record_is_not_new(left: str, lost: tuple[str, ...], tmp_path: Path) -> None:
    """Its counter is gone as well, or at 0 as where a first run was cut short."""
    state = open_upload_state(tmp_path, FIRST, ROWS)
    with state.uploads:
        state.members.word()
        state.note_altered("round-1")
    kept = {path.name for path in tmp_path.glob(left)} | ({"uploads.counter"} - set(lost))
    for path in tmp_path.iterdir():
        if path.name not in kept:
            path.unlink()
    for use in (lambda: open_upload_state(tmp_path, SECOND, ROWS), lambda: check_not_emptied(tmp_path)):
        with pytest.raises(StateError, match="is not whole") as caught:
            use()
        assert "put the folder back" in str(caught.value)
    assert {path.name for path in tmp_path.iterdir()} == kept, "nothing was made"


def test_a_check_writes_nothing(tmp_path: Path) -> None:
    with open_upload_state(tmp_path / "a", FIRST).uploads:
        pass
    before = {path.name: path.read_bytes() for path in (tmp_path / "a").iterdir()}
    check_upload_state(tmp_path / "a", FIRST, ROWS, {"round-1": "abcde"})
    assert {path.name: path.read_bytes() for path in (tmp_path / "a").iterdir()} == before
    assert RELEASES_FILE in before
