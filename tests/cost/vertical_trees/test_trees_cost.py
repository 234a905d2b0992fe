"""What a dry run says that iterations of trees will cost, held against the run itself."""

from __future__ import annotations

import pytest
from tests.launch.vertical_trees.conftest import SMALL

from hekat.cli.run.cost_tables import columns_cost_table
from hekat.cost import vertical_trees
from hekat.cost.vertical_trees import cost_of_trees_job
from hekat.launch.vertical_trees.run import run_trees_job

ALIGNED = "[intersection]\nkind = 'aligned'\n"
LEAST, MOST, MOST_OF_A_ROLE = 0.95, 1.4, 1.8
"""Of the bytes that all roles, and one role, send in a run: the rehearsal's labels grow full trees, a run's may not. Of
300 rows a host answers with a few whole polynomials a tree, one for each exchange that a run may not come to."""


def align(clinics) -> None:
    """Tables without ids, of the same patients in the same order."""
    for name in clinics.names:
        path = clinics.folder / f"{name}.csv"
        header, *rows = path.read_text().splitlines()
        path.write_text("\n".join([header, *sorted(rows)]) + "\n")
    text = (clinics.folder / "site.toml").read_text()
    (clinics.folder / "site.toml").write_text(text.replace("id = 'patient'", "ignore = ['patient']"))


@pytest.mark.long_cases("lattice-", "lattice-hide_partition = true\\n", "paillier-key_bits = 2048\\n")
@pytest.mark.parametrize(
    ("protection", "sections"),
    [
        ("none", ""),
        ("lattice", ""),
        ("lattice", "hide_partition = true\n"),
        ("paillier", "key_bits = 2048\n"),
    ],
)
def test_bytes_are_about_those_of_the_run(clinics, protection: str, sections: str) -> None:
    policy = "[policy]\nprotections = ['lattice', 'paillier', 'none']\nbin_leak_waiver = true\nhide_partition = true\n"
    clinics.write_site(policy)
    align(clinics)
    clinics.write_job(f"{ALIGNED}[protection]\nkind = '{protection}'\n{sections}")
    inputs = clinics.load_inputs()
    found = cost_of_trees_job(inputs)
    assert (found.row_count, found.steps) == (300, 4)
    sent = run_trees_job(inputs, clinics.folder / "runs").summary["bytes"]["by_role"]
    assert set(sent) == {role.role for role in found.roles}
    for role in found.roles:
        told = role.total(4)
        assert LEAST * sent[role.role]["sent"] <= told.sent_bytes <= MOST_OF_A_ROLE * sent[role.role]["sent"]
        assert told.seconds > 0
    assert found.total.sent_bytes <= MOST * sum(role["sent"] for role in sent.values())


def test_a_rehearsal_on_fewer_rows_has_leaves_of_fewer_rows(clinics, monkeypatch) -> None:
    """Else leaves that the job's rows can have are refused, and trees of fewer leaves send too few bytes."""
    monkeypatch.setattr(vertical_trees, "REHEARSED_ROWS", (100, 150))
    clinics.write_job(ALIGNED, training=f"{SMALL}min_samples_leaf = 120\n")
    align(clinics)
    assert cost_of_trees_job(clinics.load_inputs()).row_count == 300


def test_the_table_says_what_a_run_does_besides(clinics) -> None:
    note = columns_cost_table(cost_of_trees_job(clinics.load_inputs())).note
    assert "matching rows and predicting, such as for rows held out, apart" in note
    assert "probabilities" not in note
