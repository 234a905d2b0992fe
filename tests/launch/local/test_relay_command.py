"""`hekat relay`: roles that know nothing but its socket play a whole run, and it says who never comes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.launch.roles_apart import RolesApart

from hekat.cli.main import main

JOB = (
    'format = 2\nname = "customers"\nprotocol = "psi"\nguest = "bank"\nhosts = ["insurer"]\ndata = "customers"\n'
    'timeout_s = {timeout_s}\n[intersection]\nkind = "ecdh"\nlearns = ["bank"]\n'
)


def customers(place: Path, timeout_s: float = 60) -> RolesApart:
    sites = {}
    for party, numbers in {"bank": range(8), "insurer": range(5, 12)}.items():
        (place / f"{party}.csv").write_text("customer\n" + "".join(f"client{number}\n" for number in numbers))
        source = f'source = "csv"\npath = "{place / party}.csv"\nid = "customer"'
        sites[party] = f"[party.{party}.data.customers]\n{source}\n"
    return RolesApart(place, JOB.format(timeout_s=timeout_s), ("bank", "insurer"), sites)


@pytest.mark.long
def test_roles_meet_at_the_socket_and_their_runs_have_one_id(tmp_path) -> None:
    apart = customers(tmp_path)
    socket = tmp_path / "relay.sock"
    relay = subprocess.Popen(
        [sys.executable, "-m", "hekat.cli.main", "relay", str(apart.together / "job.toml"), str(socket)],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert relay.stderr is not None
    first = relay.stderr.readline()
    roles = [apart.start(role, socket) for role in apart.roles]
    assert [role.wait(60) for role in roles] == [0, 0]
    assert "every role has ended" in relay.communicate(timeout=60)[1]
    assert relay.returncode == 0
    run_id = re.search(r"run (\S+): waiting", first)
    assert run_id is not None
    assert [path.name for role in apart.roles for path in (apart.folder_of(role) / "runs").iterdir()] == [run_id[1]] * 2
    found = apart.folder_of("bank") / "runs" / run_id[1] / "intersection" / "bank.csv"
    assert sorted(found.read_text().split()[1:]) == ["client5", "client6", "client7"]
    assert not socket.exists()


def test_a_role_that_never_comes_is_named(tmp_path, capsys) -> None:
    apart = customers(tmp_path, timeout_s=0.1)
    assert main(["relay", str(apart.together / "job.toml"), str(tmp_path / "relay.sock")]) == 2
    told = capsys.readouterr().err
    assert "not every role came: no bank and no insurer" in told
    assert not (tmp_path / "relay.sock").exists()


@pytest.mark.parametrize("roles", ["bank", "bank,bank", "bank,stranger"])
def test_roles_that_cannot_meet_are_refused_by_name(tmp_path, capsys, roles) -> None:
    apart = customers(tmp_path)
    assert main(["relay", str(apart.together / "job.toml"), str(tmp_path / "relay.sock"), "--roles", roles]) == 2
    told = capsys.readouterr().err
    assert f"got: {roles.replace(',', ', ')}" in told
    assert "two or more of bank, insurer, each once" in told
    assert not (tmp_path / "relay.sock").exists()


@pytest.mark.long
def test_sigterm_leaves_no_socket(tmp_path) -> None:
    apart = customers(tmp_path)
    socket = tmp_path / "relay.sock"
    command = [sys.executable, "-m", "hekat.cli.main", "relay", str(apart.together / "job.toml"), str(socket)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as relay:
        assert relay.stderr is not None
        assert "waiting at" in relay.stderr.readline()
        relay.terminate()
        assert relay.wait(60) == 130
    assert not socket.exists()


@pytest.mark.parametrize("taken", [True, False])
def test_a_socket_that_cannot_be_made_is_refused(tmp_path, capsys, taken: bool) -> None:
    apart = customers(tmp_path)
    socket = tmp_path / "relay.sock" if taken else tmp_path / "nowhere" / "relay.sock"
    if taken:
        socket.touch()
    assert main(["relay", str(apart.together / "job.toml"), str(socket)]) == 2
    assert "no relay can be served at" in capsys.readouterr().err
    assert socket.exists() == taken
