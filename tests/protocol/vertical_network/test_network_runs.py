"""Whole trainings: lattices give what the clear gives, to a unit for each truncation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.protocol.vertical_network.rehearsal import (
    GUEST,
    HOSTS,
    Rehearsal,
    make_settings,
    make_tables,
    shared_weights,
)

from hekat.protocol.vertical_network.messages import AnswerMessage, FactorsMessage


def trained(settings: Any, tables: Any) -> tuple[Rehearsal, Any]:
    rehearsal = Rehearsal(settings, tables)
    return rehearsal, rehearsal.run()


@pytest.mark.quick_cases("frozen-1-binary")
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("hosts", [1, 2])
@pytest.mark.parametrize("bottom", ["frozen", "source", "trained"])
def test_lattices_train_what_the_clear_trains(bottom: str, hosts: int, task: str) -> None:
    tables = make_tables(3, 150, (2, 3, 1)[: hosts + 1], task=task)
    training = {"validation_fraction": 0.2, "l2": 0.01, "epochs": 3}
    changes: dict[str, Any] = {"host_bottom": bottom, "training": training}
    found = {}
    for protection in ("none", "lattice"):
        rehearsal, parts = trained(make_settings(hosts, task, protection=protection, **changes), tables)
        found[protection] = rehearsal.records[GUEST], parts
    (plain_records, plain), (records, parts) = found["none"], found["lattice"]
    for one, other in zip(records, plain_records, strict=True):
        assert one.loss == pytest.approx(other.loss, abs=1e-5)
        assert one.validation_loss == pytest.approx(other.validation_loss, abs=1e-5)
    for host in HOSTS[:hosts]:
        np.testing.assert_allclose(shared_weights(parts, host), shared_weights(plain, host), atol=1e-5)
        assert not np.allclose(
            parts[GUEST].arrays["share/" + host].astype(float), plain[GUEST].arrays["share/" + host].astype(float)
        )


@pytest.mark.parametrize("epochs", [2, 3])
def test_features_are_sent_once_a_run_where_they_serve_often_enough(epochs: int) -> None:
    settings = make_settings(1, protection="lattice", training={"epochs": epochs, "batch_rows": 40})
    rehearsal, _ = trained(settings, make_tables(4, 80, (2, 2)))
    host = [step for _, step, message in rehearsal.sent[HOSTS[0]] if isinstance(message, FactorsMessage)]
    assert host == (["epoch-1/batch-1/factors", "epoch-1/batch-2/factors"] if epochs == 3 else [])
    answers = [step for _, step, message in rehearsal.sent[GUEST] if isinstance(message, AnswerMessage)]
    assert len(answers) == (6 if epochs == 3 else 0)
    assert not any("feature" in step for _, step, _ in rehearsal.sent[GUEST])
