"""Rules are judged before a run on the batches that it will draw, and every cure that is offered works."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hekat.data import Table
from hekat.errors import PolicyError
from hekat.protocol.vertical.common_tables import find_common_tables
from hekat.protocol.vertical_linear.judging.rule_check import check_rules, judge
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.training_settings import FixedPoint, LinearTraining


def tables_of(rows: int, bank: int, shop: int, *hosts: int, seed: int = 3) -> dict[str, Table]:
    rng = np.random.default_rng(seed)
    named = dict(zip(("bank", "shop", "telco"), (bank, shop, *hosts), strict=False))
    tables = {}
    for party, columns in named.items():
        labels = rng.integers(0, 2, rows) if party == "bank" else None
        names = tuple(f"{party}{number}" for number in range(columns))
        tables[party] = Table(rng.uniform(-1, 1, (rows, columns)), labels, names, party)
    return tables


def job_of(tables: dict[str, Table], **training: Any) -> VerticalLinearSettings:
    return VerticalLinearSettings(
        "bank",
        tuple(list(tables)[1:]),
        arbiter="judge",
        classes=("0", "1"),
        training=LinearTraining(**{"learning_rate": 0.1, **training}),
    )


def refused(tables: dict[str, Table], job: VerticalLinearSettings) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        check_rules(tables, job)
    return caught.value


def followed(job: VerticalLinearSettings, cure: str) -> VerticalLinearSettings:
    """The job with the settings of a cure."""
    training, fixed_point = job.training, job.fixed_point
    for key, value in re.findall(r"(batch_rows|limit_spreads|feature_bits) = (\d+)", cure):
        if key == "feature_bits":
            fixed_point = FixedPoint(feature_bits=int(value), value_bits=fixed_point.value_bits)
        else:
            training = replace(training, **{key: int(value)})
    return replace(job, training=training, fixed_point=fixed_point)


def test_the_smallest_batch_rows_that_works_is_told_and_one_row_less_is_refused() -> None:
    """3,000 rows in batches of up to 1,100 are three of 1,000: five columns tell 15 equations more than that allows."""
    tables = tables_of(3000, 30, 40)
    job = job_of(tables, batch_rows=400)
    cure = refused(tables, job).cure
    rows = int(re.search(r"set training\.batch_rows = (\d+) or more", cure).group(1))
    judge(tables, followed(job, f"batch_rows = {rows}"))
    with pytest.raises(PolicyError):
        judge(tables, followed(job, f"batch_rows = {rows - 1}"))


def test_batches_are_judged_as_evened_out() -> None:
    """A limit of 1,100 rows makes three batches of 1,000 rows: 102 columns are more than a tenth, as the run finds."""
    tables = tables_of(3000, 3, 102)
    told = str(refused(tables, job_of(tables, batch_rows=1100)))
    assert "306: 3 batches x 102 columns" in told
    # Two batches would be few enough, but the 102 columns of one tell more bits than 1,500 labels have.
    assert "set training.batch_rows = 3000 or more: all 3,000 common rows in one batch" in told


@pytest.mark.parametrize(
    ("rows", "columns", "bits", "helps"),
    [
        (300, 12, 16, True),  # 12 x (16 + 9) bits pass 300 labels, with 15 bits they do not
        (100, 12, 16, False),  # no number of bits makes 12 columns fewer than a tenth of 100 rows
    ],
)
def test_fewer_feature_bits_are_offered_where_they_help(rows, columns, bits, helps) -> None:
    tables = tables_of(rows, 2, columns)
    job = replace(job_of(tables, batch_rows=0), fixed_point=FixedPoint(feature_bits=bits))
    cure = refused(tables, job).cure
    offered = re.search(r"feature_bits = (\d+)", cure)
    assert (offered is not None) == helps
    if offered is not None:
        judge(tables, followed(job, cure))
    assert "batch_rows" not in cure


def test_the_other_form_is_offered_where_the_job_can_have_it() -> None:
    tables = tables_of(100, 2, 12)
    job = job_of(tables, batch_rows=0)
    assert 'protection.form = "shared_weights"' in refused(tables, job).cure
    judge(tables, replace(job, form="shared_weights", arbiter=None))


def test_a_column_of_few_rows_is_named_and_no_batches_are_offered_that_leave_it_so() -> None:
    tables = tables_of(400, 2, 3)
    features = np.array(tables["shop"].features)
    features[:, 1] = np.arange(400) < 4
    tables["shop"] = replace(tables["shop"], features=features)
    error = refused(tables, job_of(tables, batch_rows=0))
    assert "1 column of host shop would tell labels of single rows" in error.what
    assert "'shop1'" in error.got
    assert "batch_rows" not in error.cure
    assert 'label_leak.accepted = "hosts may learn labels"' in error.cure
    assert "column_leak" not in error.cure


def test_a_limit_that_helps_is_offered() -> None:
    tables = tables_of(400, 2, 3)
    features = np.array(tables["shop"].features)
    features[0, 1] = 6.0
    tables["shop"] = replace(tables["shop"], features=features)
    job = job_of(tables, batch_rows=0, limit_spreads=0.0)
    cure = refused(tables, job).cure
    assert "set training.limit_spreads = 3" in cure
    judge(tables, followed(job, "limit_spreads = 3"))


def test_common_rows_are_found_in_the_order_of_the_set_intersection(firms) -> None:
    from hekat.estimator import find_common_rows

    firms.write_job()
    inputs = firms.load_inputs()
    here = find_common_tables(inputs.tables)
    played = find_common_rows(inputs.tables)
    for party, table in here.items():
        assert table.ids.to_rows() == played.tables[party].ids.to_rows()
        assert 0 < len(table) < len(inputs.tables[party])


def test_a_site_of_few_predictions_says_how_many_rows_may_be_calibrated_on(firms) -> None:
    firms.write_job("[training]\nepochs = 3\n")
    firms.write_site(policy=firms.POLICY + "max_predictions = 50\n")
    with pytest.raises(PolicyError, match=r"set training\.calibration_rows = 25 or fewer"):
        firms.load_inputs()
    firms.write_job("[training]\ncalibration_rows = 25\n")
    assert firms.load_inputs().job.settings.calibration_rows == 25
