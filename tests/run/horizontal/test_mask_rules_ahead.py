"""Rules for masks are held against a model before parties have found categories, as far as its columns are known."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.launch.horizontal.test_found_categories import FOUND, LISTED, jobs_in

from hekat.data.columns.found import most_columns
from hekat.errors import InputError
from hekat.run.horizontal.load_inputs import HorizontalInputs, load_inputs


def load(place: Path, masked: float, rule: str, role: str | None, model: str = "") -> HorizontalInputs:
    """A logistic model of one weight for each column, and a bias: six columns of north's own, nine of all parties.

    `model`: a section of the job for another model.
    """
    apart = jobs_in(place, FOUND)
    job, site = apart.together / "job.toml", apart.together / "site.toml"
    # Without keys nobody has to approve the job.
    text = re.sub(r"\[party_keys\]\n(?:\w+ = .*\n)*", "", job.read_text())
    text = text.replace('kind = "lattice"', f'kind = "lattice"\nmasked = {masked}\n{rule}')
    job.write_text(text.replace("[training]", f"{model}\n[training]"))
    site.write_text(site.read_text().replace("[policy]", "[policy]\nmin_masked = 0.1"))
    return load_inputs(job, role=role)


@pytest.mark.parametrize(
    ("masked", "rule", "told"),
    [
        (0.5, 'always = ["weight"]', "more values are to be masked always than in all"),
        (0.6, 'never = ["weight"]', "too few values are left to mask"),
        (0.5, 'always = ["wait"]', "did you mean 'weight'"),
    ],
)
def test_rules_that_no_number_of_columns_fits_are_refused_before_anything_is_sent(
    tmp_path: Path, masked: float, rule: str, told: str
) -> None:
    with pytest.raises(InputError) as refused:
        load(tmp_path, masked, rule, "north")
    assert told in str(refused.value)


def test_rules_that_fit_the_columns_of_all_parties_are_not_refused_for_those_of_one(tmp_path: Path) -> None:
    """0.9 of seven values are seven, and six are no bias; of ten they are nine."""
    rule = 'never = ["bias"]'
    assert load(tmp_path / "north", 0.9, rule, "north").column_count == 6
    assert load(tmp_path / "all", 0.9, rule, None).column_count == 9


def test_rules_that_fail_otherwise_for_few_columns_than_for_many_may_fit_between(tmp_path: Path) -> None:
    """41 values are masked always, and all 81 but weights of columns may be.

    0.11 of the 321 values of six columns are 36, of the 441 of nine 49, and of the 8,281 of 205 they are 911.
    """
    rule = 'always = ["layer_2.*"]\nnever = ["layer_1.weight"]'
    model = '[model]\nname = "mlp"\nhidden = [40]\n'
    assert load(tmp_path / "north", 0.11, rule, "north", model).column_count == 6
    assert load(tmp_path / "all", 0.11, rule, None, model).column_count == 9


def test_rules_are_held_against_the_model_once_its_columns_are_known(tmp_path: Path) -> None:
    """0.11 of seven values are one, the bias; of ten they are two."""
    inputs = load(tmp_path, 0.11, 'never = ["weight"]', "north")
    with pytest.raises(InputError, match="too few values are left to mask"):
        inputs.settle({"job": LISTED})


def test_a_table_has_no_more_columns_than_the_most_that_may_be_found(tmp_path: Path) -> None:
    inputs = load(tmp_path, 0.5, 'always = ["bias"]', "north")
    left_open = inputs.tables["north"].open_categories
    assert left_open is not None
    # An age, two hundred texts, and the two buckets that the table has already, counted once more.
    assert most_columns(inputs.column_count, left_open.offers) == 1 + 200 + 2 + 2
