"""What a relay refuses a role for, as its command tells it: exit code 2, and nothing written."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.launch.jobs_apart import clinics

from hekat.cli.main import main
from hekat.launch.frames import receive_frame, send_frame
from hekat.launch.local import JoinRequest, LocalRelay, RunTerms, terms
from hekat.state import new_run_id


@pytest.fixture
def apart(tmp_path):
    return clinics(tmp_path, 2, 'kind = "none"')


@contextmanager
def relay_of(apart, path: Path) -> Iterator[LocalRelay]:
    """A relay of the job that waits for its roles."""
    job = apart.job
    with LocalRelay(path, RunTerms(new_run_id(), apart.roles), job.digest, timeout_s=60) as relay:
        accepting = threading.Thread(target=relay._accept, daemon=True)
        accepting.start()
        yield relay


def told_by(capsys, apart, path: Path, role: str = "north") -> str:
    folder = apart.folder_of(role)
    words = ["run", folder / "job.toml", f"--role={role}", "--relay", path, "--runs", folder / "runs"]
    assert main([str(word) for word in words]) == 2
    assert not (folder / "runs").exists()
    return " ".join(capsys.readouterr().err.split())


def test_a_second_process_for_a_role(apart, tmp_path, capsys) -> None:
    path = tmp_path / "relay"
    with relay_of(apart, path) as relay, socket.socket(socket.AF_UNIX) as first:
        first.connect(str(path))
        send_frame(first, vars(JoinRequest.of("north", apart.job.digest)))
        with relay._changed:
            assert relay._changed.wait_for(lambda: "north" in relay._joined, 20)
        assert "role 'north' is played already" in told_by(capsys, apart, path)


def test_a_relay_that_ends_lets_go_of_every_role(apart, tmp_path) -> None:
    closed = []

    class Going:
        def close(self) -> None:
            closed.append(self)
            relay._forget(self)

    with relay_of(apart, tmp_path / "relay") as relay:
        relay._joined = {role: Going() for role in apart.roles}
    assert len(closed) == len(apart.roles)
    assert relay._joined == {}


def test_another_release(apart, tmp_path, capsys, monkeypatch) -> None:
    path = tmp_path / "relay"
    with relay_of(apart, path):
        monkeypatch.setattr(terms, "this_release", lambda: "0.0.1")
        assert "'north' is played by another release" in told_by(capsys, apart, path)


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"run_id": new_run_id(), "roles": ["north", "hub"]}, "the relay serves other roles than the job's"),
        ({"run_id": new_run_id(), "roles": ["north", "east", "hub", "east"]}, "other roles than the job's"),
        ({"run_id": "../elsewhere", "roles": ["north", "east", "hub"]}, "the run has a name that is no run id"),
        ({"run_id": new_run_id()}, "the relay does not say what it serves"),
        ({}, "the relay does not say what it serves"),
    ],
)
def test_a_relay_that_serves_something_else(apart, tmp_path, capsys, terms, said) -> None:
    """A relay is nobody's word: what it says of the run is held against the job."""
    path = tmp_path / "relay"

    def lie() -> None:
        connection, _ = listener.accept()
        with connection:
            receive_frame(connection)
            send_frame(connection, terms)
            receive_frame(connection)

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        liar = threading.Thread(target=lie, daemon=True)
        liar.start()
        assert said in told_by(capsys, apart, path)
        liar.join(20)
