"""A site plays what its own files allow, whatever the engine's job says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.launch.jobs_apart import clinics, customers
from tests.launch.nvflare.fake_engine import FakeEngine, order_of, play_all, runs_of, site_role

from hekat.errors import HekatError, JobError, PolicyError, StateError
from hekat.job.approvals import revoke
from hekat.job.site_file import load_site
from hekat.launch.nvflare.order import RunOrder
from hekat.launch.outcome import outcome_path, read_outcome
from hekat.summary.result_file import RESULT_FILE

KIND = "ecdh"
COMMITTEE = 'kind = "lattice"\nopening = "committee"'


@pytest.mark.long_cases("horizontal")
@pytest.mark.parametrize("protocol", ["horizontal", "psi"])
def test_every_site_plays_its_role_by_its_own_files(tmp_path: Path, protocol: str) -> None:
    apart = clinics(tmp_path, 3, COMMITTEE, rounds=1) if protocol == "horizontal" else customers(tmp_path, KIND)
    order, engine = order_of(apart), FakeEngine()
    assert play_all(apart, order, engine) == dict.fromkeys(apart.roles)
    for role in apart.roles:
        outcome = read_outcome(outcome_path(runs_of(apart, role), order.run_id))
        assert (outcome.role, outcome.outcome, outcome.job) == (role, "finished", order.digest.hex())
        assert (runs_of(apart, role) / order.run_id / RESULT_FILE).is_file()
    passed = b"".join(engine.seen)
    assert b"client12" not in passed  # an id of both parties


MASKED = f"{COMMITTEE}\nmasked = 0.5"


@pytest.mark.long
def test_a_job_that_masks_a_part_is_played_where_sites_allow_it(tmp_path: Path) -> None:
    apart = clinics(tmp_path, 3, MASKED, rounds=1, allows="min_masked = 0.5")
    order = order_of(apart)
    assert play_all(apart, order, FakeEngine()) == dict.fromkeys(apart.roles)
    run = runs_of(apart, "north") / order.run_id
    assert '"masked": 2,' in (run / RESULT_FILE).read_text()
    assert any("clear-block" in one.read_text() for one in run.rglob("*.jsonl"))


def test_a_job_that_masks_a_part_is_refused_unless_the_site_allows_it(tmp_path: Path) -> None:
    apart = clinics(tmp_path, 3, MASKED, rounds=1)
    engine = FakeEngine()
    with pytest.raises(PolicyError, match="min_masked"):
        site_role(apart, "north", order_of(apart), engine).play()
    assert not engine.seen


def test_nothing_is_sent_of_a_job_that_the_site_has_not_approved(tmp_path: Path) -> None:
    apart = customers(tmp_path, KIND)
    order, engine = order_of(apart), FakeEngine()
    revoke(load_site(apart.folder_of("bank") / "site.toml"), "bank", order.digest)
    with pytest.raises(PolicyError, match="not approved"):
        site_role(apart, "bank", order, engine).play()
    assert not engine.seen
    outcome = read_outcome(outcome_path(runs_of(apart, "bank"), order.run_id))
    assert (outcome.outcome, outcome.kind) == ("failed", "PolicyError")


def test_a_job_with_one_changed_letter_is_not_the_approved_one(tmp_path: Path) -> None:
    apart = customers(tmp_path, KIND)
    order, engine = order_of(apart), FakeEngine()
    changed = replace(order, job_text=order.job_text + b"# another\n")
    with pytest.raises(PolicyError, match="not approved"):
        site_role(apart, "bank", changed, engine).play()
    assert not engine.seen


def test_a_site_that_is_given_the_role_of_another_refuses(tmp_path: Path) -> None:
    apart = customers(tmp_path, KIND)
    order, engine = order_of(apart), FakeEngine()
    swapped = replace(order, sites={"bank": "insurer", "insurer": "bank"})
    with pytest.raises(HekatError, match="knows no party 'insurer'"):
        replace(site_role(apart, "bank", swapped, engine), site="bank").play()
    assert not engine.seen


def test_a_site_without_a_role_refuses(tmp_path: Path) -> None:
    apart = customers(tmp_path, KIND)
    order, engine = order_of(apart), FakeEngine()
    with pytest.raises(JobError, match="no role"):
        replace(site_role(apart, "bank", order, engine), site="stranger").play()
    outcome = read_outcome(outcome_path(runs_of(apart, "bank"), order.run_id))
    assert (outcome.role, outcome.kind) == ("", "JobError")
    assert "gives this site no role" in outcome.error


def test_a_run_is_played_once(tmp_path: Path) -> None:
    apart = customers(tmp_path, KIND)
    order, engine = order_of(apart), FakeEngine()
    play_all(apart, order, engine)
    sent = len(engine.seen)
    with pytest.raises(StateError, match="played the run already"):
        site_role(apart, "bank", order, engine).play()
    assert len(engine.seen) == sent


def test_an_altered_message_ends_the_run_at_every_site(tmp_path: Path) -> None:
    apart = customers(tmp_path, KIND)
    order = order_of(apart)

    def alter(site: str, parcel: bytes) -> bytes:
        return parcel[:-1] + bytes([parcel[-1] ^ 1]) if site == "insurer" and len(parcel) > 300 else parcel

    ended = play_all(apart, order, FakeEngine(alter))
    assert all(isinstance(error, HekatError) for error in ended.values())


def test_the_job_file_of_the_order_leaves_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    apart = customers(tmp_path, KIND)
    order = order_of(apart)
    with pytest.raises(JobError):
        replace(site_role(apart, "bank", order, FakeEngine()), order=_without_a_role(order)).play()
    assert not list(tmp_path.glob("hekat-*"))


def _without_a_role(order: RunOrder) -> RunOrder:
    return replace(order, sites={"bank": "bank"})
