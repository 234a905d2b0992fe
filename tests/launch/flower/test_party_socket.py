"""Another user of the machine, who listens in the party process's place: no update goes there, no model comes back."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.launch.flower.loop_sites import LIMIT_S, TERMS, first_state

from hekat.errors import ChannelError, HekatError, InputError, PolicyError, StateError
from hekat.launch.flower.call import EXCHANGE, Answer, Call
from hekat.launch.flower.courier import Courier
from hekat.launch.flower.party_socket import listen_at
from hekat.launch.frames import receive_frame, send_frame

STRANGER = 12345
IS_ROOT = os.geteuid() == 0


def folder_of(place: Path, mode: int) -> Path:
    place.mkdir()
    place.chmod(mode)
    return place


def give_to_a_stranger(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root in earnest; else the test's own user is taken for the stranger."""
    if IS_ROOT:
        os.chown(path, STRANGER, -1, follow_symlinks=False)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: STRANGER)


@contextmanager
def listening(path: Path, user: int | None = None) -> Iterator[list[Call]]:
    """Whoever made the socket first, and all that it was told. `user`: it listens as another one, which needs root."""
    told: list[Call] = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        if user is not None:
            os.seteuid(user)
        try:
            listener.listen(4)
        finally:
            if user is not None:
                os.seteuid(0)

        def answer() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                    with connection:
                        told.append(Call.from_frame(receive_frame(connection)))
                        send_frame(connection, *Answer("north", wanted=1, model=first_state()).to_frame())
                except HekatError:  # it said nothing
                    pass
                except OSError:
                    return

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        try:
            yield told
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(LIMIT_S)
            assert not thread.is_alive()


def hand_in(path: Path) -> Answer:
    """What a site's mod does in a round."""
    courier = Courier(path, Call(EXCHANGE, "run", "job"))
    courier.exchange()
    return courier.update(1, first_state(), 77, TERMS)


def refuse_update(path: Path, match: str, user: int | None = None) -> None:
    with listening(path, user) as told:
        with pytest.raises(PolicyError, match=match) as refused:
            hand_in(path)
        assert told == []
    # Flower tells its server what an app raises.
    assert str(path.parent) not in str(refused.value)
    assert refused.value.expected
    assert refused.value.cure


def test_a_path_that_is_too_long_is_told_first(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="too long for a socket"):
        listen_at(tmp_path / "none" / ("n" * 200), None)


# --- the folder ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o703])
def test_neither_end_uses_a_folder_that_everybody_may_write_to(tmp_path: Path, mode: int) -> None:
    path = folder_of(tmp_path / "tmp", mode) / "n.sock"
    with pytest.raises(InputError, match=f"mode {mode:o}"):
        listen_at(path, None)
    assert not path.exists()
    refuse_update(path, "any user of this machine")


def test_nor_one_whose_parent_lets_everybody_put_another_in_its_place(tmp_path: Path) -> None:
    path = folder_of(folder_of(tmp_path / "shared", 0o777) / "mine", 0o700) / "n.sock"
    with pytest.raises(InputError, match="any user of this machine"):
        listen_at(path, None)
    refuse_update(path, "any user of this machine")


@pytest.mark.parametrize("target", ["/", ".."], ids=["absolute", "relative"])
def test_nor_one_behind_a_link_that_everybody_may_replace(tmp_path: Path, target: str) -> None:
    private = folder_of(tmp_path / "mine", 0o700)
    link = folder_of(tmp_path / "shared", 0o777) / "link"
    link.symlink_to(private if target == "/" else Path("../mine"))
    outer = tmp_path / "outer"
    outer.symlink_to(link)
    for way in (link, outer, tmp_path / "mine" / ".." / "outer"):
        with pytest.raises(InputError, match="any user of this machine"):
            listen_at(way / "n.sock", None)
        refuse_update(way / "n.sock", "any user of this machine")
        (private / "n.sock").unlink()


def test_a_folder_that_a_stranger_made_first_in_tmp_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = folder_of(folder_of(tmp_path / "tmp", 0o1777) / "hekat", 0o755)
    listen_at(mine / "own.sock", None).close()
    with listening(mine / "n.sock"):
        assert hand_in(mine / "n.sock").wanted == 1
    (mine / "n.sock").unlink()
    give_to_a_stranger(mine, monkeypatch)
    with pytest.raises(InputError, match="any user of this machine"):
        listen_at(mine / "other.sock", None)
    refuse_update(mine / "n.sock", "any user of this machine")


def test_no_process_listens_in_a_folder_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who could put a socket of their own there, and couriers would trust it."""
    folder = folder_of(tmp_path / "theirs", 0o755)
    give_to_a_stranger(folder, monkeypatch)
    with pytest.raises(InputError, match=r"any user of this machine|belongs to another user"):
        listen_at(folder / "n.sock", None)
    assert not (folder / "n.sock").exists()


def test_without_a_folder_there_is_no_socket_and_no_answer(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="no socket can be made"):
        listen_at(tmp_path / "none" / "n.sock", None)
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with pytest.raises(StateError, match="no socket can be made"):
        listen_at(tmp_path / "circle" / "n.sock", None)
    with pytest.raises(ChannelError, match="does not answer"):
        hand_in(tmp_path / "circle" / "n.sock")


# --- who listens ---------------------------------------------------------------------------------------------------


def test_another_users_process_gets_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder that the group may write to, say."""
    path = folder_of(tmp_path / "run", 0o770) / "n.sock"
    if not IS_ROOT:
        told = SimpleNamespace(size=12, unpack=lambda _: (1, STRANGER, STRANGER))
        monkeypatch.setattr("hekat.launch.flower.party_socket._CREDENTIALS", told)
    refuse_update(path, "another user's process", STRANGER if IS_ROOT else None)


@pytest.mark.skipif(not IS_ROOT, reason="two users: only root can be both")
def test_two_users_meet_in_a_folder_of_the_party_processs(tmp_path: Path) -> None:
    """The courier is a third user here, neither the folder's owner nor the one that listens."""
    path = folder_of(tmp_path / "run", 0o750) / "n.sock"
    os.chown(path.parent, STRANGER, -1)
    with listening(path, STRANGER) as told:
        assert hand_in(path).wanted == 1
    assert len(told) == 2


def test_one_user_and_its_own_folder_are_enough(tmp_path: Path) -> None:
    path = folder_of(tmp_path / "run", 0o755) / "n.sock"
    with listening(path) as told:
        assert hand_in(path).wanted == 1
    assert told[1].weight == 77
