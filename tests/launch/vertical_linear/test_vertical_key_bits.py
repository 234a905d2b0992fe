"""How small keys may be: a site refuses a prediction with smaller ones than its jobs may have, of either kind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hekat.channel import PartyKey
from hekat.data import ColumnSpecs
from hekat.errors import PolicyError
from hekat.job.policy.refusals_ledger import find_refusal_ledgers
from hekat.job.site_file import load_site
from hekat.job.vertical_linear.job_file import load_vertical_job
from hekat.launch.vertical_linear import predict
from hekat.launch.vertical_linear.run import run_vertical_job
from hekat.ledger import audit
from hekat.ledger.refusals import refused_jobs
from hekat.run.predictions import PARTS_FOLDER
from hekat.run.vertical_linear.part_file import PARTS
from hekat.state.array_file import decode_arrays, encode_arrays

IN_SHARES = "[protection]\nkind = 'none'\nkey_bits = 2048\n"


@pytest.fixture(scope="module")
def trained(tmp_path_factory, make_firms):
    """(firms, run folder) of a model that predicts under keys of 2048 bits, as its job says."""
    firms = make_firms(tmp_path_factory.mktemp("trained"), 2)
    firms.write_job(IN_SHARES)
    return firms, run_vertical_job(firms.load_inputs(), firms.folder / "runs").folder


def lines_refused(state: Path) -> list[tuple[str, str, str]]:
    (ledger,) = find_refusal_ledgers(state)
    key = PartyKey.load(state / "refusals" / "own.key").public
    return [(job.line, job.asked, job.allowed) for job in refused_jobs(audit(ledger, key))]


@pytest.mark.parametrize(
    ("kind", "key_bits", "least", "asked", "key"),
    [
        ("ecdh", 2048, 2049, "2048 bits", "protection.key_bits"),
        ("rsa_blind", 4096, 3073, "3072 bits", "intersection.key_bits"),
    ],
    ids=["paillier", "rsa"],
)
def test_a_prediction_with_smaller_keys_is_refused(
    trained, tmp_path, monkeypatch, kind, key_bits, least, asked, key
) -> None:
    firms, folder = trained
    parts = {
        name: replace(one, part=replace(one.part, key_bits=key_bits), intersection=kind)
        for name, one in PARTS.load_all(folder).items()
    }
    monkeypatch.setattr(type(PARTS), "load_all", lambda form, run_folder: parts)
    states = {name: f"state = '{tmp_path / name}'\n" for name in firms.names}
    firms.write_site(f"[policy]\nprotections = ['none']\nmin_key_bits = {least}\n", party=states)
    for name in firms.names:
        (firms.folder / f"{name}-clients-test.csv").unlink(missing_ok=True)  # no row is read
    with pytest.raises(PolicyError, match=rf"raise {key} in the job, or .* policy\.min_key_bits"):
        predict.predict_jointly(folder, load_site(firms.folder / "site.toml"), "clients-test")
    assert not (folder / "predictions").exists()
    for name in firms.names:
        assert lines_refused(tmp_path / name) == [("policy.min_key_bits", asked, str(least))]


def test_keys_of_an_intersection_are_as_large_in_a_prediction_as_in_the_training(trained, tmp_path) -> None:
    firms, folder = trained
    first = PARTS.load(folder / PARTS_FOLDER / "bank.npz")
    firms.write_job(f"[intersection]\nkind = 'rsa_blind'\nkey_bits = 4096\n{IN_SHARES}")
    PARTS.save(tmp_path, load_vertical_job(firms.job), first.part, ColumnSpecs())
    saved = PARTS.load(tmp_path / "bank.npz")
    assert saved.matching.key_bits == saved.intersection_key_bits == 4096
    metadata, arrays = decode_arrays((tmp_path / "bank.npz").read_bytes(), "model part", "part")
    del metadata["intersection_key_bits"]  # as a release wrote it that did not say it
    (tmp_path / "bank.npz").write_bytes(encode_arrays("model part", metadata, arrays))
    assert PARTS.load(tmp_path / "bank.npz").matching.key_bits == 3072
