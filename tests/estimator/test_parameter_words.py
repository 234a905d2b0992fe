"""Refusals of estimators speak of parameters, which their callers set, and of no job or site file."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from hekat.errors import HekatError, InputError
from hekat.estimator import HorizontalLogisticRegression, VerticalLogisticRegression
from hekat.estimator.parameter_words import to_parameters

RNG = np.random.default_rng(20261126)
TABLES = {"bank": RNG.normal(size=(60, 3)), "insurer": RNG.normal(size=(60, 3))}
LABELS = np.arange(60) % 2
OF_A_FILE = re.compile(
    r"\b(training|protection|fixed_point|prediction|model|codec|label_leak|column_leak|intersection|policy)\.\w"
    r"|\[\w+\]|\bjob\b|site file"
)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"epochs": 0}, "epochs"),
        ({"batch_rows": -1}, "batch_rows"),
        ({"calibration_rows": -1}, "calibration_rows"),
        ({"patience": -1}, "patience"),
        ({"seed": -1}, "seed"),
        ({"limit_spreads": -1}, "limit_spreads"),
        ({"optimiser": "adam"}, "optimiser"),
        ({"protection": "strong"}, "protection"),
        ({"form": "secret"}, "form"),
        ({"key_bits": 100}, "key_bits"),
        ({"feature_bits": 3}, "feature_bits"),
        ({"value_bits": 99}, "value_bits"),
        ({"l1": 1.0}, "l1"),
        ({"label_leak_accepted": "yes"}, "label_leak_accepted"),
        ({"intersection": "guess"}, "intersection"),
        ({"share_holders": ["bank", "nobody"]}, "share_holders"),
        ({"arbiter": "notary", "batch_rows": 4}, "label_leak_accepted"),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else "",
)
def test_vertical_parameters_are_named(given: dict[str, Any], named: str) -> None:
    with pytest.raises(HekatError) as refusal:
        VerticalLogisticRegression(**given).fit(TABLES, LABELS)
    assert re.search(rf"\b{named}\b", str(refusal.value))
    assert OF_A_FILE.search(str(refusal.value)) is None
    assert refusal.value.cure


@pytest.mark.parametrize(
    "given", [{"rounds": 0}, {"algorithm": "magic"}, {"protection": "strong"}, {"value_bits": 99}], ids="+".join
)
def test_horizontal_parameters_are_named(given: dict[str, Any]) -> None:
    tables = {name: (rows, LABELS) for name, rows in TABLES.items()} | {"broker": (RNG.normal(size=(60, 3)), LABELS)}
    with pytest.raises(HekatError) as refusal:
        HorizontalLogisticRegression(**given).fit(tables)
    assert re.search(rf"\b{next(iter(given))}\b", str(refusal.value))
    assert OF_A_FILE.search(str(refusal.value)) is None


def test_a_refusal_that_is_reworded_says_so_in_every_form() -> None:
    error = InputError("training.epochs refused", expected="1", got="0", cure="correct training.epochs in the job")
    error.reword(to_parameters)
    assert (error.what, error.cure) == ("epochs refused", "correct epochs")
    assert str(error) == "epochs refused; expected 1; got 0; cure: correct epochs"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("give hekat.model.split.module_bottom(FUNCTION)", "give hekat.model.split.module_bottom(FUNCTION)"),
        ("correct the layer, or the job's network.host_width", "correct the layer, or host_width"),
        ("(training.epochs) or protection.kind", "(epochs) or protection"),
    ],
)
def test_keys_of_a_job_are_renamed_and_modules_are_not(text: str, named: str) -> None:
    assert to_parameters(text) == named


def test_tables_with_other_columns_are_not_sent_to_a_site_file() -> None:
    tables = {name: RNG.normal(size=(60, width)) for name, width in (("a", 2), ("b", 3), ("c", 2))}
    with pytest.raises(InputError, match="do not have the same columns") as refused:
        HorizontalLogisticRegression(rounds=1).fit(tables, dict.fromkeys(tables, LABELS))
    assert not OF_A_FILE.search(str(refused.value))
    assert "or leave columns out at both" in refused.value.cure
