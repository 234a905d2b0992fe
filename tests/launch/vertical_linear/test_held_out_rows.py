"""Rows held out of a vertical job: the same at every party, never trained on, and measured on."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.data import Table
from hekat.errors import JobError
from hekat.launch.vertical_linear.run import run_vertical_job
from hekat.protocol.vertical.hold_out import hold_out_rows

HOLD_OUT = "[protection]\nkind = 'none'\n[validation]\nhold_out = 0.25\n[training]\nlearning_rate = 0.5\n"


def test_rows_are_split_alike_and_each_is_in_one_part() -> None:
    ids = [f"p{number:03d}" for number in range(50)]
    tables = [Table(np.arange(50.0)[:, np.newaxis] + k, None, ("x",), name, ids) for k, name in enumerate("ab")]
    parts = [hold_out_rows(table, 0.3, 7) for table in tables]
    (kept, held), (others_kept, others_held) = parts
    assert held is not None
    assert others_held is not None
    assert (len(kept), len(held)) == (35, 15)
    assert sorted(kept.ids.to_rows() + held.ids.to_rows()) == [(one,) for one in ids]
    assert kept.ids.to_rows() == others_kept.ids.to_rows()
    assert held.ids.to_rows() == others_held.ids.to_rows()
    assert hold_out_rows(tables[0], 0.3, 8)[1].ids.to_rows() != held.ids.to_rows()
    assert hold_out_rows(tables[0], 0.0, 7) == (tables[0], None)
    assert len(hold_out_rows(tables[0], 1e-6, 7)[1]) == 1


@pytest.mark.long_cases("shared_weights")
@pytest.mark.parametrize("form", ["shared_weights", "arbiter"])
def test_a_run_measures_on_rows_that_it_did_not_train_on(firms, form) -> None:
    if form == "arbiter":
        sections = firms.ARBITER + HOLD_OUT.removeprefix("[protection]\nkind = 'none'\n") + firms.WAIVER
        firms.write_job(sections, arbiter='"auditor"')
    else:
        firms.write_job(HOLD_OUT)
    result = run_vertical_job(firms.load_inputs(), firms.folder / "runs")
    found = result.summary
    common = found["intersection"]["common"]
    held = round(0.25 * common)
    assert (found["test_rows"], found["test_rows_trained_on"]) == (held, 0)
    assert sum(found["parties"][0]["class_rows"].values()) == common - held
    (own,) = found["results"]
    assert set(own["metrics"]) >= {"accuracy", "log_loss"}
    assert any(f"{held} of the {common} common rows were held out" in note for note in found["notes"])


def test_test_data_and_rows_held_out_are_one_too_many(firms) -> None:
    firms.write_job(HOLD_OUT, test_data='"clients"')
    with pytest.raises(JobError, match=r"test_data and validation\.hold_out"):
        firms.load_inputs()


@pytest.mark.parametrize("fraction", ["-0.1", "0.95"])
def test_a_fraction_that_leaves_too_few_rows_is_refused(firms, fraction) -> None:
    firms.write_job(HOLD_OUT.replace("0.25", fraction))
    with pytest.raises(JobError, match=r"validation\.hold_out refused"):
        firms.load_inputs()


def test_held_out_rows_need_a_guest_that_receives_scores(firms) -> None:
    firms.write_job(HOLD_OUT + "[prediction]\nreceivers = ['insurer']\n")
    with pytest.raises(JobError, match="metrics of test rows need their scores at the guest"):
        firms.load_inputs()
