"""Nothing is used twice: no public polynomial, secret or error key, over repeats, restarts, forks, restored folders."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace

import pytest

from hekat.errors import ChannelError, HekatError, StateError
from hekat.protocol.secure_sum.masked import party as masked_party
from hekat.protocol.secure_sum.masked.messages import StatementMessage
from hekat.protocol.secure_sum.masked.opening.release_record import ReleaseRecord
from hekat.protocol.secure_sum.masked.upload_state import RELEASES_FILE, open_upload_state, take_upload_number
from hekat.scheme.lattice import Encryptor

OPENINGS = ("committee", "authority", "shared")
JOB_DIGEST = bytes(32)


class Uploads:
    """What each upload of every party was masked with."""

    def __init__(self) -> None:
        self.public_keys: list[bytes] = []
        self.secrets: list[bytes] = []
        self.error_keys: list[bytes] = []

    def __len__(self) -> int:
        return len(self.secrets)

    def check(self, upload_count: int, party_count: int = 5) -> None:
        """So many uploads of so many parties each, and nothing that came twice but one `a` for all of one upload."""
        assert len(self) == upload_count * party_count
        assert len(set(self.secrets)) == len(self)
        assert len(set(self.error_keys)) == len(self)
        assert {self.public_keys.count(key) for key in self.public_keys} == {party_count}
        assert len(set(self.public_keys)) == upload_count


@pytest.fixture
def uploads(monkeypatch) -> Uploads:
    watched = Uploads()

    class Watched(Encryptor):
        __slots__ = ()

        def __init__(self, parameters, secret, public_key, engine=None):
            super().__init__(parameters, secret, public_key, engine)
            watched.public_keys.append(public_key)
            watched.secrets.append(secret.coefficients.tobytes())
            watched.error_keys.append(bytes(self._error_key))

    monkeypatch.setattr(masked_party, "Encryptor", Watched)
    return watched


def three_rounds(settings):
    return replace(settings, training=replace(settings.training, round_count=3))


@pytest.mark.long_cases("committee")
@pytest.mark.parametrize("opening", OPENINGS)
def test_over_rounds_and_restarts(opening, uploads, rehearse_masked, masked_settings) -> None:
    settings = three_rounds(masked_settings(5, opening))
    first = rehearse_masked(settings)
    first.run()
    rehearse_masked(settings).run()
    rehearse_masked(settings, resume_from=first.saved[0]).run()
    uploads.check(3 + 3 + 2)


@pytest.mark.parametrize("opening", OPENINGS)
def test_over_the_sums_of_a_group(opening, uploads, rehearse_masked, masked_settings) -> None:
    """With a committee four sums of a group are of two sets, and so are the secrets; all else is of each sum."""
    made = masked_settings(5, opening)
    settings = replace(made, training=replace(made.training, standardise=True))
    rehearse_masked(settings).run()
    assert len(uploads) == 5 * (4 + 1)
    assert len(set(uploads.error_keys)) == len(uploads)
    assert sorted(uploads.public_keys.count(key) for key in set(uploads.public_keys)) == [5] * 5
    times = sorted(uploads.secrets.count(secret) for secret in set(uploads.secrets))
    assert times == ([1] * 5 + [2] * 10 if opening == "committee" else [1] * 25)
    pairs = set(zip(uploads.secrets, uploads.public_keys, strict=True))
    assert len(pairs) == len(uploads), "no secret masks twice under one public polynomial"


def test_over_attempts_of_the_first_sum_of_a_group(uploads, play, masked_settings, lie_in_releases) -> None:
    """Those of an upload that was given up serve no later sum."""

    def lie_at_first(content, index):
        return content if index else b"\xff\x7f" * (len(content) // 2)

    lie_in_releases({*"abcde"}, lie_at_first)
    made = masked_settings(5)
    settings = replace(made, training=replace(made.training, standardise=True))
    rehearsal, _, error = play(lambda *message: None, settings=settings)
    assert error is None
    assert rehearsal.records[0].party_count == 5
    times = sorted(uploads.secrets.count(secret) for secret in set(uploads.secrets))
    assert times == [1] * 10 + [2] * 10


@pytest.mark.parametrize("opening", ["committee", "authority"])
def test_over_attempts_of_one_step(opening, uploads, play, masked_settings, lie_in_releases) -> None:
    """Releases fit together nowhere in the first two: all mask anew, twice."""

    def lie_twice(content, index):
        return content if index == 2 else b"\xff\x7f" * (len(content) // 2)

    lie_in_releases({*"abcde", "notary"}, lie_twice)
    rehearsal, _, error = play(lambda *message: None, settings=masked_settings(5, opening))
    assert error is None
    assert rehearsal.records[0].party_count == 5
    uploads.check(3)


@pytest.mark.parametrize("opening", OPENINGS)
def test_over_a_run_that_broke_off_in_the_middle_of_an_upload(
    opening, uploads, rehearse_masked, masked_settings, meddle
) -> None:
    """The numbers of the first run are gone although nothing was opened under them."""

    def stop_at_the_last(to, step, message):
        if isinstance(message, StatementMessage):
            raise ChannelError("the machine goes down")
        return [(step, message)]

    settings = masked_settings(3, opening)
    with pytest.raises(HekatError):
        rehearse_masked(settings, meddlers={"c": meddle(stop_at_the_last)}).run()
    again = rehearse_masked(settings)
    again.run()
    uploads.check(2, party_count=3)
    assert {state.uploads.next_value for name, state in again.upload_states.items() if name != "notary"} == {2}


@pytest.mark.quick_cases("everybody-committee", "one party-authority", "everybody-shared")
@pytest.mark.parametrize("opening", OPENINGS)
@pytest.mark.parametrize("restored", ["everybody", "one party"])
def test_over_a_state_folder_that_was_put_back(
    restored, opening, uploads, rehearse_masked, masked_settings, tmp_path
) -> None:
    """Numbers repeat then, in another session: nothing that follows from a number alone is a key."""
    settings = masked_settings(5, opening)
    folder, snapshot = tmp_path / "state", tmp_path / "snapshot"
    rehearse_masked(settings)
    shutil.copytree(folder, snapshot)
    sessions, numbers = [], []
    for _ in range(3):
        rehearsal = rehearse_masked(settings)
        rehearsal.run()
        sessions += rehearsal.sessions
        numbers.append(rehearsal.upload_states["b"].uploads.next_value)
        for name in [path.name for path in snapshot.iterdir()] if restored == "everybody" else ["b"]:
            shutil.rmtree(folder / name)
            shutil.copytree(snapshot / name, folder / name)
    assert numbers == ([1, 1, 1] if restored == "everybody" else [1, 2, 3])
    assert len(set(sessions)) == 3
    uploads.check(3)


def in_a_fork(work) -> str:
    """What `work` raised in a forked process: the kind of it, or nothing."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        told = b""
        try:
            work()
        except BaseException as error:
            told = type(error).__name__.encode()
        os.write(write_end, told)
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return told.decode()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_takes_no_number_of_its_parent(tmp_path) -> None:
    state = open_upload_state(tmp_path / "a", JOB_DIGEST)
    with state.uploads:
        take_upload_number(state.uploads, 4)
        assert in_a_fork(lambda: take_upload_number(state.uploads, 5)) == "StateError"
        assert in_a_fork(lambda: state.uploads.next_value) == "StateError"
        assert in_a_fork(lambda: open_upload_state(tmp_path / "a", JOB_DIGEST)) == "StateError"
        take_upload_number(state.uploads, 5)
    with open_upload_state(tmp_path / "a", JOB_DIGEST).uploads as kept:
        assert kept.next_value == 6
        with pytest.raises(StateError, match="is used already"):
            take_upload_number(kept, 5)


@pytest.mark.parametrize("missing", ["uploads.counter", "releases.record"])
def test_a_state_folder_that_is_not_whole_is_not_begun_anew(missing, tmp_path) -> None:
    with open_upload_state(tmp_path / "a", JOB_DIGEST).uploads as kept:
        take_upload_number(kept, 0)
    (tmp_path / "a" / missing).unlink()
    for _ in range(2):
        with pytest.raises(StateError, match=missing):
            open_upload_state(tmp_path / "a", JOB_DIGEST)


def test_a_crash_between_the_two_files_leaves_a_state_that_is_still_new(tmp_path, monkeypatch) -> None:
    def crash(path, *, durable):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ReleaseRecord, "create", crash)
        with pytest.raises(KeyboardInterrupt):
            open_upload_state(tmp_path / "a", JOB_DIGEST)
    assert not (tmp_path / "a" / RELEASES_FILE).exists()
    with open_upload_state(tmp_path / "a", JOB_DIGEST).uploads as kept:
        assert kept.next_value == 0
    assert (tmp_path / "a" / RELEASES_FILE).is_file()


@pytest.mark.parametrize("opening", ["committee", "authority"])
def test_who_has_released_is_never_new_without_a_record(opening, rehearse_masked, masked_settings, tmp_path) -> None:
    """The authority takes no upload numbers, and its counter says all the same that it had a record."""
    rehearse_masked(masked_settings(5, opening)).run()
    rehearse_masked(masked_settings(5, opening))  # which closes the states of the run
    folder = tmp_path / "copy"
    shutil.copytree(tmp_path / "state" / ("a" if opening == "committee" else "notary"), folder)
    (folder / RELEASES_FILE).unlink()
    with pytest.raises(StateError, match=RELEASES_FILE):
        open_upload_state(folder, JOB_DIGEST)


def test_two_runs_at_once_do_not_share_a_state_folder(tmp_path) -> None:
    with open_upload_state(tmp_path / "a", JOB_DIGEST).uploads, pytest.raises(StateError, match="open elsewhere"):
        open_upload_state(tmp_path / "a", JOB_DIGEST)
