"""The privacy budget: reserved before use, charged for ever, one over jobs and processes, and refused once damaged."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest

from hekat.errors import BudgetError, PolicyError, StateError
from hekat.privacy.accounting import Release, epsilon_of
from hekat.state import privacy_budget
from hekat.state.privacy_budget import BudgetTerms, PrivacyBudget, Promise, least_colluders

pytest.importorskip("dp_accounting", reason="needs hekat[privacy]")

RELEASE = Release(noise=4.0, sampling=1.0, value_count=100, party_count=3, std=50.0)
TERMS = BudgetTerms("patients", "row", "zero-out", 1e-5, limit=3.0)
JOB, OTHER_JOB = b"\x01" * 32, b"\x02" * 32


def _room(limit: float) -> int:
    """How many releases fit the limit."""
    count = 0
    while epsilon_of({RELEASE: count + 1}, TERMS.delta) <= limit:
        count += 1
    return count


def _open(folder: Path, **changes: object) -> PrivacyBudget:
    return PrivacyBudget(folder / "budget", replace(TERMS, **changes))  # type: ignore[arg-type]


def test_all_jobs_compose_and_the_release_that_would_pass_the_limit_is_refused(tmp_path: Path) -> None:
    room = _room(TERMS.limit)
    assert room > 3
    for number in range(room):
        spent = _open(tmp_path).reserve(OTHER_JOB if number % 2 else JOB, number + 1, RELEASE)
    assert spent.release_count == room
    assert spent.job_count in (room // 2, room - room // 2)
    with pytest.raises(BudgetError, match="'patients' is spent: round 1 would pass the limit"):
        _open(tmp_path).reserve(OTHER_JOB, 1, RELEASE)
    assert _open(tmp_path).spent() == replace(spent, job_count=0)  # a refusal charges nothing


def test_a_round_that_is_trained_again_is_charged_again(tmp_path: Path) -> None:
    _open(tmp_path).reserve(JOB, 1, RELEASE)
    assert _open(tmp_path).reserve(JOB, 1, RELEASE).release_count == 2


def test_rounds_that_would_not_fit_are_refused_ahead_and_charge_nothing(tmp_path: Path) -> None:
    room = _room(TERMS.limit)
    budget = _open(tmp_path)
    budget.reserve(JOB, 1, RELEASE)
    assert budget.check_ahead([RELEASE] * (room - 1)).release_count == 1
    with pytest.raises(BudgetError, match=f"{room} rounds would pass"):
        budget.check_ahead([RELEASE] * room)
    assert budget.spent().release_count == 1


def test_the_owner_may_raise_the_limit_and_nothing_else(tmp_path: Path) -> None:
    _open(tmp_path, limit=2.0).reserve(JOB, 1, RELEASE)
    assert _open(tmp_path, limit=9.0).spent().release_count == 1
    for changes in (
        {"data_set": "others"},
        {"unit": "party"},
        {"neighbours": "replace-one"},
        {"delta": 1e-4},
        {"colluders": 2},
    ):
        with pytest.raises(StateError, match="other terms"):
            _open(tmp_path, **changes).spent()


@pytest.mark.parametrize(
    ("asked", "least_parties", "least"),
    [(None, 2, 1), (None, 3, 1), (None, 10, 8), (1, 10, 1), (4, 10, 4), (4, 3, 2), (10, 10, 9)],
)
def test_a_claim_against_fewer_colluders_than_the_site_asks_for_is_refused(
    tmp_path: Path, asked: int | None, least_parties: int, least: int
) -> None:
    budget = _open(tmp_path, colluders=asked)
    assert least_colluders(asked, least_parties) == least
    budget.check_promise("north", Promise("row", "zero-out", least, least_parties), "the job's privacy.")
    with pytest.raises(PolicyError, match=r"the job's privacy\.colluders is less than north's budget asks for"):
        budget.check_promise("north", Promise("row", "zero-out", least - 1, least_parties), "the job's privacy.")


def test_the_release_is_on_the_disk_before_the_reservation_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that does not take it: no reservation, so no round, and no charge for what did not happen."""
    budget = _open(tmp_path)
    budget.reserve(JOB, 1, RELEASE)

    def fail(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(privacy_budget.os, "fsync", fail)
        with pytest.raises(StateError, match="No space left"):
            budget.reserve(JOB, 2, RELEASE)
    assert budget.spent().release_count == 1


def _reserve_many(folder: Path, start: object) -> None:
    start.wait()  # type: ignore[attr-defined]
    for number in range(8):
        try:
            _open(folder, limit=2.0).reserve(JOB, number, RELEASE)
        except BudgetError:
            return


def test_two_processes_at_once_share_one_limit(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    start = context.Barrier(2)
    workers = [context.Process(target=_reserve_many, args=(tmp_path, start)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert 0 < _room(2.0) < 16
    assert _open(tmp_path, limit=2.0).spent().release_count == _room(2.0)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    budget = _open(tmp_path)
    for number in (1, 2, 3):
        budget.reserve(JOB, number, RELEASE)
    return tmp_path / "budget"


def _cut_last(data: bytes) -> bytes:
    return b"".join(data.splitlines(keepends=True)[:-1])


def _swap(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join([lines[0], lines[2], lines[1], *lines[3:]])


@pytest.mark.parametrize(
    "damage",
    [
        _cut_last,
        _swap,
        lambda data: data[:-5],
        lambda data: data[: len(data) // 2],
        lambda data: data.replace(b'"noise": 4.0', b'"noise": 9.0', 1),
        lambda data: data + data.splitlines(keepends=True)[-1],
        lambda data: b"",
        lambda data: data.replace(b"noise", b"voice", 1),
        lambda data: b"[1]\n" + data,
    ],
    ids=["cut", "swapped", "torn counted", "half", "changed", "repeated", "emptied", "renamed", "preceded"],
)
def test_a_damaged_ledger_is_refused(written: Path, damage: object) -> None:
    written.write_bytes(damage(written.read_bytes()))  # type: ignore[operator]
    for use in (lambda b: b.spent(), lambda b: b.reserve(JOB, 4, RELEASE)):
        with pytest.raises(StateError):
            use(_open(written.parent))


def test_a_fork_of_the_ledger_is_refused(written: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A copy that went another way, put in the place of the ledger, whose head has stayed."""
    other = tmp_path_factory.mktemp("copy")
    budget = _open(other)
    for number in (1, 2, 9):
        budget.reserve(JOB, number, RELEASE)
    written.write_bytes((other / "budget").read_bytes())
    with pytest.raises(StateError, match="other releases than were counted"):
        _open(written.parent).spent()


def test_a_removed_ledger_is_refused_while_its_head_is_there(written: Path) -> None:
    written.unlink()
    with pytest.raises(StateError, match="its head alone"):
        _open(written.parent).spent()


def test_a_part_of_a_line_that_a_crash_left_is_mended(written: Path) -> None:
    whole = written.read_bytes()
    written.write_bytes(whole + whole.splitlines(keepends=True)[-1][:40])
    assert _open(written.parent).spent().release_count == 3
    assert written.read_bytes() == whole


def test_a_line_that_the_head_does_not_count_stays_charged(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    budget = _open(written.parent)
    monkeypatch.setattr(PrivacyBudget, "_write_head", lambda self, count, digest: None)
    budget.reserve(JOB, 4, RELEASE)
    monkeypatch.undo()
    assert budget.spent().release_count == 4
    assert budget.reserve(JOB, 5, RELEASE).release_count == 5
    written.write_bytes(_cut_last(written.read_bytes()))  # the mended head counts it
    with pytest.raises(StateError):
        budget.spent()
