"""What a server could say to one site and not to the others: each of it changes the digest that sites compare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs hekat[flower]")

from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.supercore.task_identity import TaskIdentity

from hekat.launch.flower.terms import digest_of_terms


@pytest.fixture(autouse=True)
def _task(monkeypatch: pytest.MonkeyPatch) -> None:
    """What makes a message asks for the process's own run, which an engine's process has."""
    for name in ("_run_id", "_node_id", "_task_id"):
        monkeypatch.setattr(TaskIdentity, name, 1)


def said(kind: str = "train", group: str = "1", run_config: dict[str, Any] | None = None, **records: Any) -> str:
    content = RecordDict({"arrays": ArrayRecord(), "config": ConfigRecord({"lr": 0.1, "steps": [1, 2]}), **records})
    message = Message(content, dst_node_id=1, message_type=kind, group_id=group)
    return digest_of_terms(message, Context(1, 1, {"party": "north"}, RecordDict(), run_config or {"epochs": 3}))


@pytest.mark.parametrize(
    "other",
    [
        lambda: said("train.other"),
        lambda: said(group="2"),
        lambda: said(run_config={"epochs": 4}),
        lambda: said(config=ConfigRecord({"lr": 0.0, "steps": [1, 2]})),
        lambda: said(config=ConfigRecord({"lr": 0.1, "steps": [2, 1]})),
        lambda: said(config=ConfigRecord({"lr": 0.1, "steps": [1, 2], "mu": 0})),
        lambda: said(config=ConfigRecord({"lr": 0.1, "steps": [1.0, 2.0]})),
        lambda: said(config=ConfigRecord({"lr": "0.1", "steps": [1, 2]})),
        lambda: said(more=ConfigRecord({})),
        lambda: said(more=MetricRecord({"lr": 0.1})),
        lambda: said(more=ArrayRecord()),
    ],
)
def test_all_that_a_server_chooses_changes_the_digest(other: Callable[[], str]) -> None:
    assert said() != other()


@pytest.mark.parametrize("record", [ConfigRecord, MetricRecord])
def test_names_are_texts_so_that_none_can_pass_for_another(record: type) -> None:
    """Beside "1" a server could say 1, which an app tells apart, and which would sort and print like it."""
    with pytest.raises(TypeError):
        record({1: 0.1})


def test_order_and_the_values_of_arrays_do_not() -> None:
    assert said() == said(config=ConfigRecord({"steps": [1, 2], "lr": 0.1}))
    assert said() == said(arrays=ArrayRecord({"w": Array(np.ones(3))}))
    assert said(config=ConfigRecord({"lr": float("nan")})) == said(config=ConfigRecord({"lr": float("nan")}))
