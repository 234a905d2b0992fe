"""A Paillier key that a guest's site keeps is the key of its trainings of trees; a key anywhere else is refused."""

from __future__ import annotations

import pytest

from hekat.errors import JobError, KeyRefusedError
from hekat.launch.vertical_trees.run import run_trees_job
from hekat.run.vertical_trees.load_inputs import load_trees_inputs
from hekat.wire.keyfile import save_private_key

UNDER_PAILLIER = "[protection]\nkind = 'paillier'\nkey_bits = 2048\n"
ONE_TREE = "[training]\nmax_iter = 1\nmax_depth = 2\nmax_bins = 4\n"


@pytest.fixture
def with_key(clinics, paillier_keys):
    """Called with a party and a passphrase: the party's site keeps the first stored key of 2048 bits."""

    def write(party: str, passphrase: bytes | None = None):
        path = clinics.folder / "kept.key"
        save_private_key(path, paillier_keys[2048][0].private, passphrase)
        clinics.write_site(party={party: "paillier_key = 'kept.key'"})
        clinics.write_job(UNDER_PAILLIER, training=ONE_TREE)
        return clinics

    return write


@pytest.mark.long
def test_a_training_is_under_the_kept_key_of_the_guest(with_key, tmp_path, monkeypatch) -> None:
    def make_none(bits: int):
        raise AssertionError("the guest has a key")

    monkeypatch.setattr("hekat.protocol.vertical_trees.arithmetic.make.generate_keys", make_none)
    clinics = with_key("clinic", b"an open secret")
    inputs = load_trees_inputs(clinics.job, None, lambda: b"an open secret")
    assert "key_pair" not in repr(inputs)
    run = run_trees_job(inputs, tmp_path / "runs")
    (guest,) = (view for view in run.summary["seen"] if view["party"] == "clinic")
    assert any("was given a Paillier key of 2048 bits" in row["what"] for row in guest["noted"])


@pytest.mark.long
def test_a_kept_key_is_opened_by_its_passphrase_alone(with_key) -> None:
    clinics = with_key("clinic", b"an open secret")
    with pytest.raises(KeyRefusedError):
        load_trees_inputs(clinics.job, None, lambda: b"another one")
    with pytest.raises(KeyRefusedError):
        load_trees_inputs(clinics.job)


def test_a_role_at_its_own_site_has_the_key_that_is_kept_there(with_key) -> None:
    clinics = with_key("clinic")
    assert load_trees_inputs(clinics.job, role="clinic").key_pair is not None
    assert load_trees_inputs(clinics.job, role="laboratory").key_pair is None


def test_a_key_at_a_host_is_refused(with_key) -> None:
    with pytest.raises(JobError, match="laboratory has a paillier_key but makes no key") as caught:
        with_key("laboratory").load_inputs()
    assert "clinic" in caught.value.expected


def test_a_kept_key_of_another_size_is_refused(with_key) -> None:
    clinics = with_key("clinic")
    clinics.write_job(UNDER_PAILLIER.replace("2048", "3072"))
    with pytest.raises(JobError, match="key file does not fit the job"):
        clinics.load_inputs()


def test_a_site_with_a_key_serves_jobs_under_lattice(with_key) -> None:
    clinics = with_key("laboratory")
    clinics.write_job("[protection]\nkind = 'lattice'\n")
    assert clinics.load_inputs().key_pair is None
