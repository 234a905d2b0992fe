"""A job whose gradients would tell more bits than its batches have labels: refused before it starts."""

from __future__ import annotations

import pytest

from hekat.errors import PolicyError


def test_a_job_of_small_batches_is_refused_before_it_starts(firms) -> None:
    """Two columns and batches of 30 rows: a fifteenth as many equations as rows, and 42 bits on 30 labels."""
    batches = "[training]\nbatch_rows = 30\n"
    firms.write_job(firms.ARBITER + batches, arbiter='"auditor"')
    with pytest.raises(PolicyError, match="host insurer would tell the labels of a batch"):
        firms.prepare()
    firms.write_job(firms.ARBITER + firms.WAIVER + batches, arbiter='"auditor"')
    assert firms.prepare().job.settings.label_leak_accepted is not None


@pytest.mark.parametrize("task", ["logistic", "linear"])
def test_labels_of_which_few_differ_are_refused_before_it_starts_where_rows_are_known(firms, task) -> None:
    """Two columns tell 46 bits, or with numbers 112; where three of 120 rows differ there are 18 bits."""
    rows = [f"p{number:04d}" for number in range(120)]
    numbers = iter(range(10**6))

    def relabel(few: int):
        def change(table):
            table = [[row, *old[1:]] for row, old in zip(rows, table, strict=True)]
            return [[*row[:-1], relabelled(row[0], few)] for row in table]

        return change

    def relabelled(person: str, few: int):
        is_one = int(person[1:]) % 120 < few
        if task == "linear":
            return float(is_one) if few == 3 else next(numbers) / 7
        return "defaulted" if is_one else "repaid"

    firms.write_table("insurer", change=lambda table: [[row, *old[1:]] for row, old in zip(rows, table, strict=True)])
    sections = (
        firms.ARBITER + f"[model]\nname = '{task}'\n[intersection]\nkind = 'aligned'\n[training]\nbatch_rows = 0\n"
    )
    changes = {"arbiter": '"auditor"', **({"classes": ""} if task == "linear" else {})}
    firms.write_job(sections, **changes)
    firms.write_table("bank", change=relabel(60))
    firms.prepare()
    firms.write_table("bank", change=relabel(3))
    with pytest.raises(PolicyError, match="host insurer would tell the labels of a batch; expected at most 18 bits"):
        firms.prepare()
