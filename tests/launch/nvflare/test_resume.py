"""A run that stopped goes on in a new job, from every site's own checkpoint: the same bits as one that did not stop."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.launch.jobs_apart import clinics, credit, customers
from tests.launch.nvflare.fake_engine import FakeEngine, order_of, play_all, runs_of, site_role
from tests.launch.roles_apart import RolesApart

from hekat.errors import HekatError, InputError, JobError, StateError
from hekat.launch.nvflare.order import RunOrder, make_order
from hekat.run.horizontal.trained_model import MODEL_FILE
from hekat.run.horizontal.training_state_file import CHECKPOINT_FILE, DOUBTFUL_FILE, EARLIER_FILE
from hekat.state import load_checkpoint, new_run_id, save_checkpoint

PARTIES = ("north", "east", "south")
# By the time that a member has released in round 3, all parties have uploaded, and saved round 2 before.
SAVED_TWO = rb"round-3/upload-\d+/released"
COMMITTEE = 'kind = "lattice"\nopening = "committee"'


def stopped_in(step: bytes, at: str) -> FakeEngine:
    """An engine that spoils the first message of a step, a pattern, to the site `at`, whose role then ends the run."""
    spoiled: list[bytes] = []

    def spoil(site: str, parcel: bytes) -> bytes:
        if site != at or spoiled or re.search(step, parcel[:4096]) is None:
            return parcel
        spoiled.append(parcel)
        return parcel[:-1] + bytes([parcel[-1] ^ 1])

    return FakeEngine(spoil)


def run_until(apart: RolesApart, step: bytes, at: str = "server") -> RunOrder:
    order = order_of(apart)
    ended = play_all(apart, order, stopped_in(step, at))
    assert all(isinstance(error, HekatError) for error in ended.values()), ended
    return order


def resume(
    apart: RolesApart, order: RunOrder, engine: FakeEngine | None = None
) -> tuple[RunOrder, dict[str, BaseException | None]]:
    again = make_order(apart.together / "job.toml", resume=order.run_id)
    return again, play_all(apart, again, engine or FakeEngine())


def model_of(apart: RolesApart, party: str, order: RunOrder) -> dict[str, np.ndarray]:
    with np.load(runs_of(apart, party) / order.run_id / MODEL_FILE) as arrays:
        return {name: arrays[name] for name in arrays.files if name != "hekat"}


def checkpoint_of(apart: RolesApart, party: str, order: RunOrder, name: str = CHECKPOINT_FILE) -> Path:
    return runs_of(apart, party) / order.run_id / name


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    """The model of a run of three rounds that nothing stopped."""
    apart = clinics(tmp_path_factory.mktemp("unbroken"), 3, COMMITTEE, rounds=3)
    order = order_of(apart)
    assert play_all(apart, order, FakeEngine()) == dict.fromkeys(apart.roles)
    return model_of(apart, "north", order)


@pytest.mark.long
@pytest.mark.parametrize("one_is_behind", [False, True], ids=["all saved it", "one had not saved the last round"])
def test_a_resumed_run_has_the_same_bits(tmp_path: Path, unbroken: dict[str, np.ndarray], one_is_behind: bool) -> None:
    apart = clinics(tmp_path, 3, COMMITTEE, rounds=3)
    order = run_until(apart, SAVED_TWO)
    if one_is_behind:
        checkpoint_of(apart, "north", order, EARLIER_FILE).replace(checkpoint_of(apart, "north", order))
    again, ended = resume(apart, order)
    assert ended == dict.fromkeys(apart.roles)
    for party in PARTIES:
        model = model_of(apart, party, again)
        assert model.keys() == unbroken.keys()
        for name, values in unbroken.items():
            np.testing.assert_array_equal(model[name], values)
        told = (runs_of(apart, party) / again.run_id / "events.jsonl").read_text()
        assert f'"rounds_done": {1 if one_is_behind else 2}' in told


@pytest.mark.long
def test_a_resumed_run_that_stops_before_it_saves_a_round_is_resumed_from_its_own_folder(
    tmp_path: Path, unbroken: dict[str, np.ndarray]
) -> None:
    apart = clinics(tmp_path, 3, COMMITTEE, rounds=3)
    second, ended = resume(apart, run_until(apart, SAVED_TWO), stopped_in(rb"round-3/upload-\d+/dealt", "server"))
    assert all(isinstance(error, HekatError) for error in ended.values()), ended
    assert all(checkpoint_of(apart, party, second).is_file() for party in PARTIES)
    third, ended = resume(apart, second)
    assert ended == dict.fromkeys(apart.roles)
    for name, values in unbroken.items():
        np.testing.assert_array_equal(model_of(apart, "east", third)[name], values)


@pytest.mark.long
def test_a_round_set_aside_at_one_site_is_gone_on_from_where_the_others_have_saved_a_later_one(
    tmp_path: Path, unbroken: dict[str, np.ndarray]
) -> None:
    """A false word of the aggregator, heard by a site that was still a round behind, keeps nobody from going on."""
    apart = clinics(tmp_path, 3, COMMITTEE, rounds=3)
    first = run_until(apart, SAVED_TWO)
    second, ended = resume(apart, first)
    assert ended == dict.fromkeys(apart.roles)
    checkpoint_of(apart, "north", second, EARLIER_FILE).replace(checkpoint_of(apart, "north", second, DOUBTFUL_FILE))
    checkpoint_of(apart, "north", first, EARLIER_FILE).replace(checkpoint_of(apart, "north", second))
    third, ended = resume(apart, second)
    assert ended == dict.fromkeys(apart.roles)
    for party in PARTIES:
        told = (runs_of(apart, party) / third.run_id / "events.jsonl").read_text()
        assert '"rounds_done": 2' in told
        for name, values in unbroken.items():
            np.testing.assert_array_equal(model_of(apart, party, third)[name], values)


def test_a_site_without_its_checkpoint_says_so_and_sends_nothing(tmp_path: Path) -> None:
    apart = clinics(tmp_path, 3, COMMITTEE, rounds=3)
    again, engine = make_order(apart.together / "job.toml", resume=new_run_id()), FakeEngine()
    with pytest.raises(StateError, match="there is nothing to resume"):
        site_role(apart, "north", again, engine).play()
    assert not engine.seen


@pytest.mark.long
def test_sites_without_a_round_in_common_name_them(tmp_path: Path) -> None:
    apart = clinics(tmp_path, 3, COMMITTEE, rounds=3)
    order = run_until(apart, SAVED_TWO)
    checkpoint_of(apart, "north", order, EARLIER_FILE).replace(checkpoint_of(apart, "north", order))
    checkpoint_of(apart, "east", order, EARLIER_FILE).unlink()
    _, ended = resume(apart, order)
    told = [str(error) for error in ended.values() if isinstance(error, StateError)]
    assert any("east: 2; north: 1; south: 1, 2" in text for text in told), ended


@pytest.mark.long
def test_sites_with_other_models_find_out_before_an_update_leaves(tmp_path: Path) -> None:
    apart = clinics(tmp_path, 3, COMMITTEE, rounds=3)
    order = run_until(apart, SAVED_TWO)
    path = checkpoint_of(apart, "north", order)
    found = load_checkpoint(path, order.digest)
    forged = replace(found, parameters={name: values + 1 for name, values in found.parameters.items()})
    save_checkpoint(path, forged)
    engine = FakeEngine()
    again = make_order(apart.together / "job.toml", resume=order.run_id)
    ended = play_all(apart, again, engine)
    assert all(isinstance(error, HekatError) for error in ended.values())
    assert not any((runs_of(apart, party) / again.run_id / MODEL_FILE).exists() for party in PARTIES)


@pytest.mark.long
def test_a_vertical_run_is_resumed_too(tmp_path: Path, paillier_keys) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    unbroken, apart = (credit(tmp_path / name, paillier_keys, "arbiter") for name in "ab")
    whole = order_of(unbroken)
    assert play_all(unbroken, whole, FakeEngine()) == dict.fromkeys(unbroken.roles)
    order = run_until(apart, b"epoch-2", "bank")
    again, ended = resume(apart, order)
    assert ended == dict.fromkeys(apart.roles)
    for party in ("bank", "insurer"):
        parts = [
            next((runs_of(one, party) / run.run_id / "parts").glob("*.npz"))
            for one, run in ((unbroken, whole), (apart, again))
        ]
        first, second = (np.load(path) for path in parts)
        for name in set(first.files) - {"hekat"}:
            np.testing.assert_array_equal(first[name], second[name])


def test_an_intersection_has_nothing_to_resume(tmp_path: Path) -> None:
    apart = customers(tmp_path, "ecdh")
    order = make_order(apart.together / "job.toml", resume=new_run_id())
    ended = play_all(apart, order, FakeEngine())
    assert any(isinstance(error, InputError) and "nothing to resume" in str(error) for error in ended.values())


def test_a_run_to_resume_is_a_run_id(tmp_path: Path) -> None:
    job = customers(tmp_path, "ecdh").together / "job.toml"
    with pytest.raises(JobError, match="no such run to resume"):
        make_order(job, resume="../../elsewhere")
    arguments = make_order(job).to_arguments()
    for resumed in ("../../elsewhere", arguments["run_id"], None, 7):
        with pytest.raises(JobError, match="no run id"):
            RunOrder.from_arguments({**arguments, "resume": resumed})
