"""What a dry run says that epochs will cost, held against the run itself."""

from __future__ import annotations

import pytest

from hekat.cost.vertical_linear import cost_of_vertical_job
from hekat.launch.vertical_linear.run import run_vertical_job
from hekat.scheme.bfv import PRODUCTS
from hekat.wire.keyfile import save_private_key


def align(firms) -> None:
    """Tables without ids, of the same people in the same order."""
    for name in firms.names:
        firms.write_table(name, change=sorted)
    text = (firms.folder / "site.toml").read_text()
    (firms.folder / "site.toml").write_text(text.replace("id = 'person'", "ignore = ['person']"))


@pytest.mark.quick_cases("0-arbiter-paillier")
@pytest.mark.parametrize(
    ("form", "kind"), [("shared_weights", "paillier"), ("arbiter", "paillier"), ("arbiter", "lattice")]
)
@pytest.mark.parametrize("batch_rows", [0, 50])
def test_bytes_are_those_of_the_run(form, kind, batch_rows, firms, key_files, paillier_keys) -> None:
    if form == "shared_weights":
        firms.write_site(party=key_files)
    elif kind == "paillier":
        save_private_key(firms.folder / "auditor.paillier", paillier_keys(2048).private, None)
        firms.write_site(more="[party.auditor]\npaillier_key = 'auditor.paillier'\n")
    align(firms)
    sections = f"[intersection]\nkind = 'aligned'\n[protection]\nkind = '{kind}'\nform = '{form}'\n"
    sections += "key_bits = 2048\n" if kind == "paillier" else ""
    # Training alone: probabilities are fitted to predictions.
    sections += f"[training]\nepochs = 3\nbatch_rows = {batch_rows}\ncalibration_rows = 0\n"
    named = {} if form == "shared_weights" else {"arbiter": '"auditor"'}
    firms.write_job(sections + ("" if form == "shared_weights" else firms.WAIVER), **named)
    inputs = firms.load_inputs()
    found = cost_of_vertical_job(inputs)
    assert (found.row_count, found.batch_count, found.steps) == (120, 3 if batch_rows else 1, 3)
    run = run_vertical_job(inputs, firms.folder / "runs").summary
    told = {role.role: role.total(3) for role in found.roles}
    assert set(told) == set(run["bytes"]["by_role"])
    for role, cost in told.items():
        assert cost.sent_bytes == pytest.approx(run["bytes"]["by_role"][role]["sent"], rel=0.05)
        assert cost.seconds > 0
    assert found.total.sent_bytes == pytest.approx(sum(cost.sent_bytes for cost in told.values()))
    assert found.to_json()["total"]["sent_bytes"] == found.total.sent_bytes


def test_large_batches_are_reckoned_by_their_rows(firms, monkeypatch) -> None:
    firms.write_job("[training]\nbatch_rows = 0\nepochs = 1\n")
    inputs = firms.load_inputs()
    whole = cost_of_vertical_job(inputs)
    monkeypatch.setattr("hekat.cost.vertical_linear.MAX_REHEARSED_ROWS", 60)
    scaled = cost_of_vertical_job(inputs)
    assert scaled.row_count == whole.row_count == 120
    assert scaled.batch_count == whole.batch_count == 1
    # Fixed parts of a message are reckoned twice.
    assert 0.9 * whole.total.sent_bytes < scaled.total.sent_bytes < 2.1 * whole.total.sent_bytes
    assert [role.later.sent_bytes for role in scaled.roles] == [0.0, 0.0]


@pytest.mark.long
def test_batches_beyond_one_ciphertext_are_reckoned_by_their_ciphertexts(firms) -> None:
    """Scores and residuals grow with the rows, masked gradients do not."""
    rows = 2 * PRODUCTS.degree + 5
    for name in firms.names:
        firms.write_table(name, rows)
    align(firms)
    sections = "[intersection]\nkind = 'aligned'\n[protection]\nkind = 'lattice'\n"
    firms.write_job(sections + "[training]\nepochs = 2\nbatch_rows = 0\n", arbiter='"auditor"')
    inputs = firms.load_inputs()
    found = cost_of_vertical_job(inputs)
    run = run_vertical_job(inputs, firms.folder / "runs").summary
    for role in found.roles:
        assert role.total(2).sent_bytes == pytest.approx(run["bytes"]["by_role"][role.role]["sent"], rel=0.02)


def test_nothing_is_written(firms) -> None:
    firms.write_job(sparse="true")
    before = sorted(firms.folder.rglob("*"))
    found = cost_of_vertical_job(firms.load_inputs())
    assert sorted(firms.folder.rglob("*")) == before
    assert found.total.sent_bytes > 0
