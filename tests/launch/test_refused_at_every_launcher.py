"""Whatever starts a role, a job that the site refuses sends nothing and reads no row, and the refusal is kept."""

from __future__ import annotations

import ast
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.launch.flower.loop_sites import make_sites
from tests.launch.jobs_apart import clinics, credit, customers
from tests.launch.nvflare.fake_engine import FakeEngine, order_of, runs_of, site_role
from tests.launch.nvflare.protected.apps import Sites
from tests.launch.roles_apart import RolesApart

from hekat.channel import PartyKey
from hekat.cli.main import main
from hekat.errors import PolicyError
from hekat.job.policy.refusals_ledger import find_refusal_ledgers
from hekat.launch.flower.loop_site import load_aggregator_site
from hekat.launch.nvflare.protected.app_party import AppParty
from hekat.launch.nvflare.protected.handover import Handover
from hekat.launch.outcome import outcome_path, read_outcome
from hekat.ledger import audit
from hekat.ledger.refusals import refused_jobs

SOURCE = Path(__file__).parents[2] / "src" / "hekat"
# It looks whether the site file of a start-up kit can be read, and plays nothing.
DOCTOR = "link_findings.py"
LINE = "policy.approved_jobs"
NO_JOB = "approved_jobs = []"
PROTOCOLS = ("horizontal", "vertical_linear", "psi")


@pytest.fixture(params=PROTOCOLS)
def apart(request, tmp_path: Path, paillier_keys) -> RolesApart:
    """Roles whose sites allow no job, and whose files hold no row."""
    make: dict[str, Callable[[], RolesApart]] = {
        "horizontal": lambda: clinics(tmp_path, 3, 'kind = "lattice"'),
        "vertical_linear": lambda: credit(tmp_path, paillier_keys, "shared_weights"),
        "psi": lambda: customers(tmp_path, "ecdh"),
    }
    made = make[request.param]()
    for folder in (made.together, *map(made.folder_of, made.roles)):
        site = folder / "site.toml"
        site.write_text(site.read_text().replace("[policy]\n", f"[policy]\n{NO_JOB}\n"))
    for rows in tmp_path.glob("*.csv"):
        rows.unlink()
    return made


def lines_refused(state: Path, key: PartyKey) -> list[str]:
    return [job.line for path in find_refusal_ledgers(state) for job in refused_jobs(audit(path, key.public))]


def run(capsys, folder: Path, *options: object) -> str:
    """What `hekat run` says, which writes no run."""
    words = ["run", folder / "job.toml", "--runs", folder / "runs", *options]
    assert main([str(word) for word in words]) == 2
    assert not (folder / "runs").exists()
    return " ".join(capsys.readouterr().err.split())


@pytest.mark.quick_values
@pytest.mark.parametrize("options", [(), ("--processes",)], ids=["in one process", "in processes"])
def test_hekat_run_starts_no_role(apart, capsys, monkeypatch, options) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    assert LINE in run(capsys, apart.together, *options)
    for role in apart.roles:
        assert lines_refused(apart.together / "state" / role, apart.keys[role]) == [LINE]


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[socket.socket]:
    """A relay's place, where nobody may come."""
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "relay"))
        made.listen()
        made.setblocking(False)
        yield made


def test_a_role_of_its_own_joins_no_relay(apart, capsys, listener) -> None:
    for role in apart.roles:
        folder = apart.folder_of(role)
        assert LINE in run(capsys, folder, f"--role={role}", "--relay", listener.getsockname())
        assert lines_refused(folder / "state" / role, apart.keys[role]) == [LINE]
    with pytest.raises(BlockingIOError):
        listener.accept()


def test_a_site_of_nvflare_sends_nothing(apart) -> None:
    order, engine = order_of(apart), FakeEngine()
    for role in apart.roles:
        with pytest.raises(PolicyError, match=LINE):
            site_role(apart, role, order, engine).play()
        outcome = read_outcome(outcome_path(runs_of(apart, role), order.run_id))
        assert (outcome.outcome, outcome.kind) == ("failed", "PolicyError")
        assert not (runs_of(apart, role) / order.run_id).exists()
        assert lines_refused(apart.folder_of(role) / "state" / role, apart.keys[role]) == [LINE]
    assert not engine.seen


def test_a_site_of_a_protected_app_sends_nothing_and_asks_the_app_for_nothing(tmp_path) -> None:
    sites = Sites(tmp_path, policy=f'protocols = ["averaging"]\n{NO_JOB}')
    order = sites.approve(sites.order())
    for name in sites.roles:
        role, handover = sites.role(name, order), Handover()
        app = None if name == "aggregator" else AppParty(role.job(), name, handover)
        with pytest.raises(PolicyError, match=LINE):
            role.play(app, handover)
        assert app is None or app.rounds_done == 0
        assert not sites.run_of(name, order).exists()
        assert lines_refused(tmp_path / name / "state", sites.keys[name]) == [LINE]
    assert not sites.engine.seen


def test_a_party_process_beside_flower_opens_no_socket(tmp_path, capsys) -> None:
    sites = make_sites(tmp_path)
    for role in sites.parties:
        sites.add_policy(role, NO_JOB)
        words = ["party", sites.job_path, "--site", sites.site_file(role), "--socket", tmp_path / "party.sock"]
        assert main([str(word) for word in (*words, "--runs", sites.runs(role))]) == 2
        assert LINE in " ".join(capsys.readouterr().err.split())
        assert lines_refused(tmp_path / role / "state", sites.keys[role]) == [LINE]
    assert not (tmp_path / "party.sock").exists()
    assert not any(sites.runs(role).exists() for role in sites.parties)


def test_the_aggregator_beside_flower_is_refused_by_its_own_site(tmp_path) -> None:
    sites = make_sites(tmp_path)
    sites.add_policy("aggregator", NO_JOB)
    with pytest.raises(PolicyError, match=LINE):
        load_aggregator_site(sites.job_path, sites.site_file("aggregator"), sites.runs("aggregator"))
    assert not sites.runs("aggregator").exists()


@pytest.mark.long
def test_whatever_plays_by_a_site_file_holds_the_job_against_its_policy() -> None:
    """A new launcher that loads a site file and asks it for no leave is found here."""
    asking = set()
    for path in (path for folder in ("run", "launch", "own_loop", "live") for path in (SOURCE / folder).rglob("*.py")):
        called = {
            node.func.id
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        if "load_site" in called and path.name != DOCTOR:
            assert "enforce_policy" in called, path
            asking.add(path.relative_to(SOURCE).as_posix())
    assert len(asking) == 7, asking
