"""What a site takes from the engine's job: a job text with its digest, names of sites, a run's name; nothing else."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from tests.launch.jobs_apart import clinics, customers

from hekat.errors import JobError
from hekat.job.load_any_job import load_any_job
from hekat.launch.nvflare.order import MAX_JOB_BYTES, RunOrder, make_order

COMMITTEE = 'kind = "lattice"\nopening = "committee"'


@pytest.fixture
def arguments(tmp_path: Path) -> dict[str, object]:
    return make_order(customers(tmp_path, "ecdh").together / "job.toml").to_arguments()


def test_an_order_arrives_as_it_was_made(tmp_path: Path) -> None:
    job = clinics(tmp_path, 3, COMMITTEE).together / "job.toml"
    order = make_order(job, {"east": "site-2"})
    assert RunOrder.from_arguments(order.to_arguments()) == order
    assert order.job_text == job.read_bytes()
    assert order.sites == {"north": "north", "east": "site-2", "south": "south", "hub": "server"}
    assert order.client_sites == ["north", "site-2", "south"]
    assert (order.role_at("site-2"), order.role_at("server"), order.role_at("east")) == ("east", "hub", None)


def test_the_engine_finds_no_name_to_replace_in_an_order(arguments: dict[str, object]) -> None:
    assert "{" not in str(arguments["job"])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"job": base64.b64encode(b"format = 2\n").decode()}, "another digest"),
        ({"job": "?"}, "no job text"),
        ({"job": 7}, "no job text"),
        ({"job": base64.b64encode(bytes(MAX_JOB_BYTES + 1)).decode()}, "no job text"),
        ({"digest": "0" * 64}, "another digest"),
        ({"sites": {"bank": "one", "insurer": "one"}}, "one site with two roles"),
        ({"sites": ["bank", "insurer"]}, "no names of sites"),
        ({"sites": {"bank": 1}}, "no names of sites"),
        ({"run_id": "../../etc"}, "no run id"),
        ({"run_id": None}, "no run id"),
    ],
)
def test_what_is_no_order_is_refused(arguments: dict[str, object], change: dict[str, object], told: str) -> None:
    with pytest.raises(JobError, match=told):
        RunOrder.from_arguments({**arguments, **change})


@pytest.mark.parametrize("role", ["north", "authority"])
def test_the_server_plays_no_role_that_opens_or_holds_rows(tmp_path: Path, role: str) -> None:
    protection = 'kind = "lattice"\nopening = "authority"\nauthority = "authority"'
    text = clinics(tmp_path, 3, COMMITTEE).job_text.replace(COMMITTEE, protection)
    job = tmp_path / "job.toml"
    job.write_text(text)
    with pytest.raises(JobError, match=f"{role} at the server"):
        make_order(job, {"hub": "hub", role: "server"})


def test_an_order_for_other_roles_than_the_jobs_is_refused(tmp_path: Path) -> None:
    job = customers(tmp_path, "ecdh").together / "job.toml"
    order = make_order(job)
    with pytest.raises(JobError, match="sites for bank"):
        RunOrder(order.job_text, {"bank": "bank"}, order.run_id).check_roles(load_any_job(job))


def test_a_site_for_a_role_that_the_job_lacks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="no role 'stranger'"):
        make_order(customers(tmp_path, "ecdh").together / "job.toml", {"stranger": "site-1"})
