"""Fills of a vertical job: each owner's own rows give them, and its part of the model keeps them for later rows."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from hekat.data import ColumnSpec
from hekat.job.site_file import load_site
from hekat.launch.vertical_linear.predict import predict_jointly
from hekat.launch.vertical_linear.run import run_vertical_job
from hekat.run.vertical_linear.part_file import PARTS


def make_gap(rows: list[list[object]]) -> list[list[object]]:
    return [[row[0], "NA" if number % 4 == 0 else row[1], *row[2:]] for number, row in enumerate(rows)]


def cells_of(path, column: str) -> np.ndarray:
    with path.open(newline="") as file:
        return np.array([float(row[column]) for row in csv.DictReader(file) if row[column] != "NA"])


@pytest.mark.quick_cases("mean")
@pytest.mark.parametrize("rule", ["mean", "median"])
def test_a_hosts_fill_is_from_its_own_rows_and_stays_in_its_part(rule: str, firms) -> None:
    firms.write_job(f'[columns."cl*"]\nfill = "{rule}"\n', test_data='"clients-test"')
    for data, count, seed in (("clients", 120, 3), ("clients-test", 40, 4)):
        firms.write_table("insurer", count, data=data, seed=seed, change=make_gap)
    inputs = firms.load_inputs()
    known = cells_of(firms.folder / "insurer-clients.csv", "claims")
    fill = known.mean() if rule == "mean" else np.sort(known)[(known.size - 1) // 2]
    for table in (inputs.tables["insurer"], inputs.test_tables["insurer"]):
        column = table.features[:, table.feature_names.index("claims")]
        np.testing.assert_allclose(column[::4], fill, rtol=2.0**-28)
        assert not table.open_fills
    result = run_vertical_job(inputs, firms.folder / "runs")
    parts = PARTS.load_all(result.folder)
    assert parts["insurer"].column_specs.find("claims").fill == pytest.approx(fill, rel=2.0**-28)
    assert "claims" not in parts["bank"].column_specs.to_json(), "no other party's fill is in a part"
    found = predict_jointly(result.folder, load_site(firms.folder / "site.toml"), "clients-test", ("bank",))
    assert np.isfinite(found.by_receiver["bank"].probabilities).all()


def name_claims(rows: list[list[object]]) -> list[list[object]]:
    return [[row[0], "many" if float(str(row[1])) > 0 else "few", *row[2:]] for row in rows]


@pytest.mark.long
def test_categories_that_an_owner_finds_are_in_no_job_and_in_its_own_part_alone(firms) -> None:
    firms.write_job('[columns."*"]\ncategories = "found"\nunknown = "ignore"\n', test_data='"clients-test"')
    for data, count, seed in (("clients", 120, 3), ("clients-test", 40, 4)):
        firms.write_table("insurer", count, data=data, seed=seed, change=name_claims)
    inputs = firms.load_inputs()
    assert inputs.tables["insurer"].feature_names[:2] == ("claims=few", "claims=many")
    result = run_vertical_job(inputs, firms.folder / "runs")
    parts = PARTS.load_all(result.folder)
    assert parts["insurer"].column_specs.find("claims") == ColumnSpec("claims", ("few", "many"), unknown="ignore")
    assert "few" not in str(parts["bank"].column_specs.to_json())
    path = firms.folder / "insurer-clients-test.csv"
    path.write_text(path.read_text().replace(",many,", ",none,"))
    found = predict_jointly(result.folder, load_site(firms.folder / "site.toml"), "clients-test", ("insurer",))
    (note,) = found.by_receiver["insurer"].notes
    assert "rows of column 'claims' hold none of its categories and count as none of them" in note
