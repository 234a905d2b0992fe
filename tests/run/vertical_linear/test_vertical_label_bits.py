"""A job whose gradients would tell more bits than its batches have labels: refused before it starts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hekat.data import Table
from hekat.errors import PolicyError
from hekat.protocol.vertical_linear.judging.rule_check import check_own_table, check_rules
from hekat.protocol.vertical_linear.settings import LEAK_ACCEPTED, VerticalLinearSettings
from hekat.protocol.vertical_linear.training_settings import LinearTraining


def test_a_job_of_small_batches_is_refused_before_it_starts(firms) -> None:
    """Two columns and batches of 30 rows: a fifteenth as many equations as rows, and 42 bits on 30 labels."""
    batches = "[training]\nbatch_rows = 30\n"
    firms.write_job(firms.ARBITER + batches, arbiter='"auditor"')
    with pytest.raises(PolicyError, match="host insurer would tell the labels of a batch"):
        firms.load_inputs()
    firms.write_job(firms.ARBITER + firms.WAIVER + batches, arbiter='"auditor"')
    assert firms.load_inputs().job.settings.label_leak_accepted is not None


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
    firms.load_inputs()
    firms.write_table("bank", change=relabel(3))
    with pytest.raises(PolicyError, match="host insurer would tell the labels of a batch; expected at most 18 bits"):
        firms.load_inputs()


def test_columns_of_the_same_few_rows_are_refused_before_it_starts_where_rows_are_known() -> None:
    rng = np.random.default_rng(3)
    has = rng.random(5120) < 0.115
    few = Table(np.where(has[:, np.newaxis], rng.uniform(1, 2, (5120, 4)), 0.0), None, tuple("abcd"), "shop")
    labels = rng.integers(0, 2, 5120)
    tables = {"bank": Table(rng.normal(size=(5120, 2)), labels, ("u", "v"), "bank"), "shop": few}
    job = VerticalLinearSettings(
        "bank", ("shop",), arbiter="judge", classes=("0", "1"), training=LinearTraining(batch_rows=256)
    )
    with pytest.raises(PolicyError, match="4 columns of host shop share so few rows"):
        check_rules(tables, job)
    check_own_table("shop", few, job)
    check_rules(tables, replace(job, label_leak_accepted=LEAK_ACCEPTED))
    check_rules(tables, replace(job, training=LinearTraining(batch_rows=0)))


def test_large_numbers_among_small_ones_are_refused_before_it_starts_where_rows_are_known() -> None:
    rng = np.random.default_rng(9)
    amounts = rng.random(1000)
    shop = Table(rng.uniform(-1, 1, (1000, 40)), None, tuple(f"x{number}" for number in range(40)), "shop")
    job = VerticalLinearSettings(
        "bank", ("shop",), arbiter="judge", task="linear", training=LinearTraining(batch_rows=0)
    )
    tables = {"bank": Table(rng.normal(size=(1000, 2)), amounts.copy(), ("u", "v"), "bank"), "shop": shop}
    check_rules(tables, job)
    amounts[:12] = 20_000 / 1.5 ** np.arange(12)
    tables["bank"] = replace(tables["bank"], labels=amounts)
    with pytest.raises(PolicyError, match="host shop would tell the numbers of a batch"):
        check_rules(tables, job)
