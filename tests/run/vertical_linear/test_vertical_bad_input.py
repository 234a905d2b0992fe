"""Tables, labels, ids and keys that a vertical job cannot be run on: told before anything is written."""

from __future__ import annotations

import pytest

from hekat.errors import HekatError, InputError, JobError, PolicyError
from hekat.wire.keyfile import save_private_key


def refusal(firms, kind: type[HekatError] = InputError) -> str:
    """What preparing the job is refused with; nothing is left behind."""
    before = sorted(firms.folder.iterdir())
    with pytest.raises(kind) as caught:
        firms.load_inputs()
    assert sorted(firms.folder.iterdir()) == before
    assert caught.value.expected
    assert caught.value.cure
    return str(caught.value)


def relabel(firms, party: str, old: str, new: str) -> None:
    """Change the lines of one party in the site file."""
    head, _, rest = (firms.folder / "site.toml").read_text().partition(f"[party.{party}]")
    first, _, tail = rest.partition(f"[party.{party}.data.clients-test]")
    (firms.folder / "site.toml").write_text(
        f"{head}[party.{party}]{first.replace(old, new)}[party.{party}.data.clients-test]{tail}"
    )


def test_labels_at_a_host_too(firms) -> None:
    firms.write_job()
    relabel(firms, "insurer", "id = 'person'", "id = 'person'\nlabel = 'claims'")
    assert "insurer has labels, and so has another party" in refusal(firms)


def test_labels_at_nobody(firms) -> None:
    firms.write_job()
    relabel(firms, "bank", "label = 'outcome'", "ignore = ['outcome']")
    assert "bank has no labels" in refusal(firms)


def test_labels_of_one_kind(firms) -> None:
    firms.write_job()
    firms.write_table("bank", change=lambda rows: [[*row[:-1], "repaid"] for row in rows])
    assert "labels of guest bank are all the same" in refusal(firms)


def test_labels_that_are_no_class(firms) -> None:
    firms.write_job(classes='["good", "bad"]')
    told = refusal(firms)
    assert "bank has a label that is none of the classes" in told
    assert "repaid" not in told


def test_a_party_without_columns(firms) -> None:
    firms.write_job()
    relabel(firms, "insurer", "id = 'person'", "id = 'person'\nignore = ['claims', 'age']")
    told = refusal(firms)
    assert "insurer" in told
    assert "column" in told


def test_a_feature_with_one_value(firms) -> None:
    firms.write_job()
    firms.write_table("insurer", change=lambda rows: [[row[0], 1.5, row[2]] for row in rows])
    assert "column 'claims'" in refusal(firms)


def test_a_category_that_no_row_has_is_cured_in_the_job(firms) -> None:
    firms.write_job('[columns.claims]\ncategories = ["few", "many", "none"]\n')
    firms.write_table(
        "insurer", change=lambda rows: [[row[0], "few" if k % 2 else "many", row[2]] for k, row in enumerate(rows)]
    )
    told = refusal(firms)
    assert "got column 'claims=none'" in told
    assert "[columns.COLUMN]: take the category out there" in told


def test_a_protection_that_the_site_does_not_allow_is_cured_by_one_of_vertical_jobs(firms) -> None:
    firms.write_job("[protection]\nkind = 'none'\n")
    site = (firms.folder / "site.toml").read_text()
    head, found, rest = site.partition("protections = [")
    assert found
    (firms.folder / "site.toml").write_text(head + "protections = ['lattice', 'paillier']" + rest.partition("]")[2])
    told = refusal(firms, PolicyError)
    assert "protection.kind = 'paillier'" in told
    assert "lattice" not in told


@pytest.mark.parametrize("cell", ["", "nan"])
def test_a_missing_value(cell, firms) -> None:
    firms.write_job()
    firms.write_table("insurer", change=lambda rows: [[rows[0][0], cell, rows[0][2]], *rows[1:]])
    told = refusal(firms)
    assert "'claims'" in told
    assert "empty cells" in told


def test_a_missing_value_that_the_job_fills(firms) -> None:
    firms.write_job("[columns.claims]\nfill = 0\n")
    firms.write_table("insurer", change=lambda rows: [[rows[0][0], "", rows[0][2]], *rows[1:]])
    table = firms.load_inputs().tables["insurer"]
    assert table.features[0].tolist()[0] == 0.0


def test_a_column_that_no_party_has(firms) -> None:
    firms.write_job("[columns.claimz]\nfill = 0\n")
    assert "did you mean 'claims'?" in refusal(firms)


def test_no_ids(firms) -> None:
    firms.write_job()
    relabel(firms, "insurer", "id = 'person'", "ignore = ['person']")
    assert "insurer has no ids" in refusal(firms)


def test_ids_that_repeat(firms) -> None:
    firms.write_job()
    firms.write_table("insurer", change=lambda rows: [["p0001", *row[1:]] for row in rows[:3]] + rows[3:])
    told = refusal(firms)
    assert "insurer has ids that repeat" in told
    assert "p0001" not in told


def test_one_row(firms) -> None:
    firms.write_job()
    firms.write_table("insurer", change=lambda rows: rows[:1])
    assert "insurer has too few rows; expected at least 2" in refusal(firms)


def test_rows_that_cannot_be_in_one_order(firms) -> None:
    firms.write_job("[intersection]\nkind = 'aligned'\n")
    firms.write_table("insurer", 119)
    assert "bank: 120, insurer: 119" in refusal(firms)


def test_values_too_large_to_train_on(firms) -> None:
    firms.write_job()
    firms.write_table("insurer", change=lambda rows: [[rows[0][0], 1e300, rows[0][2]], *rows[1:]])
    assert "column 'claims' of insurer has values too large" in refusal(firms)


def test_data_that_the_site_does_not_have(firms) -> None:
    firms.write_job(data='"patients"')
    assert "no data called 'patients' for bank" in refusal(firms, JobError)


def test_test_data_of_other_columns(firms) -> None:
    firms.write_job(test_data='"clients-test"')
    firms.write_table("insurer", 40, data="clients-test", header=["person", "claims", "years"])
    told = refusal(firms)
    assert "the test data of insurer has other columns" in told
    assert "missing 'age'; unknown 'years'" in told


def test_test_data_in_another_order_of_columns(firms) -> None:
    firms.write_job(test_data='"clients-test"')
    firms.write_table(
        "insurer",
        40,
        data="clients-test",
        header=["person", "age", "claims"],
        change=lambda rows: [[row[0], 7.0, 1.0 + number] for number, row in enumerate(rows)],
    )
    table = firms.load_inputs().test_tables["insurer"]
    assert table.feature_names == ("claims", "age")
    assert table.features[0].tolist() == [1.0, 7.0]


def test_a_job_beyond_the_label_leak_rule_is_refused_before_it_starts(firms) -> None:
    firms.write_job(firms.ARBITER + "[training]\nbatch_rows = 15\n", arbiter='"auditor"')
    told = refusal(firms, PolicyError)
    assert "the gradients of host insurer would tell labels" in told
    assert "hosts may learn labels" in told
    firms.write_job(firms.ARBITER + firms.WAIVER + "[training]\nbatch_rows = 15\n", arbiter='"auditor"')
    assert firms.load_inputs().job.settings.label_leak_accepted is not None


def test_a_guest_with_too_many_columns_is_refused_before_it_starts(firms) -> None:
    """Two columns and the ones in four batches are more than a tenth of 111 common rows."""
    at_host = "[label_leak]\naccepted = 'hosts may learn labels'\n[training]\nbatch_rows = "
    firms.write_job(firms.ARBITER + at_host + "29\n", arbiter='"auditor"')
    told = refusal(firms, PolicyError)
    assert "the gradients of guest bank would tell columns of hosts" in told
    assert "the guest may learn columns of hosts" in told
    firms.write_job(firms.ARBITER + firms.WAIVER + "[training]\nbatch_rows = 29\n", arbiter='"auditor"')
    assert firms.load_inputs().job.settings.column_leak_accepted is not None


@pytest.mark.parametrize(
    ("party", "told"), [("bank", "single rows of hosts' columns"), ("insurer", "labels of single rows")]
)
def test_a_column_with_few_rows_of_its_own_is_refused_before_it_starts(firms, party, told) -> None:
    """Where rows are aligned, and so known to be common."""
    for name in firms.names:
        firms.write_table(name, change=sorted)
    batch = "[intersection]\nkind = 'aligned'\n[training]\nbatch_rows = 0\n"
    firms.write_job(firms.ARBITER + batch, arbiter='"auditor"')
    firms.write_table(
        party,
        change=lambda rows: [[row[0], float(number < 5), *row[2:]] for number, row in enumerate(sorted(rows))],
    )
    assert f"1 column of {'guest' if party == 'bank' else 'host'} {party} would tell {told}" in refusal(
        firms, PolicyError
    )


def test_a_key_of_another_size(firms, paillier_keys) -> None:
    save_private_key(firms.folder / "small.paillier", paillier_keys(2048).private, None)
    firms.write_site(party={"bank": "paillier_key = 'small.paillier'"})
    firms.write_job("[protection]\nkey_bits = 3072\n")
    assert "bank's key file does not fit the job" in refusal(firms, JobError)


def test_a_key_at_a_party_that_makes_none(firms, key_files) -> None:
    firms.write_site(party=key_files)
    firms.write_job("[protection]\nkey_bits = 2048\nform = 'arbiter'\n" + firms.WAIVER, arbiter='"auditor"')
    assert "bank has a paillier_key but makes no key in form 'arbiter'" in refusal(firms, JobError)


def test_an_arbiter_keeps_its_key(firms, paillier_keys) -> None:
    save_private_key(firms.folder / "auditor.paillier", paillier_keys(2048).private, None)
    firms.write_site(more="[party.auditor]\npaillier_key = 'auditor.paillier'\n")
    firms.write_job("[protection]\nkey_bits = 2048\nform = 'arbiter'\n" + firms.WAIVER, arbiter='"auditor"')
    assert list(firms.load_inputs().key_pairs) == ["auditor"]


def test_a_cell_far_from_all_others_is_noted_for_the_tables_owner(firms) -> None:
    firms.write_table("insurer", change=lambda rows: [[*rows[0][:1], -1e9, *rows[0][2:]], *rows[1:]])
    firms.write_job()
    tables = firms.load_inputs().tables
    (note,) = [note for note in tables["insurer"].notes if "look at" in note]
    assert note.startswith("column 'claims': row 1 lies")
    assert not any("look at" in note for note in tables["bank"].notes)
