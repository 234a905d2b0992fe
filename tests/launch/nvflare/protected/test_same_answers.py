"""Where the server learns the model, what it averages is what all sites opened, whoever hands in something else."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("nvflare", reason="needs hekat[nvflare]")

from nvflare.apis.dxo import DXO, DataKind, MetaKey
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.app_common.app_constant import AppConstants
from tests.launch.nvflare.protected.apps import PARTIES
from tests.launch.nvflare.protected.test_components import a_recipe

from hekat.launch.nvflare.protected.components import HekatAggregator
from hekat.launch.nvflare.protected.lean_filters import SHAPES_ID
from hekat.launch.nvflare.protected.same_answers import NoteRound, SameAnswers
from hekat.nvflare import protect

MEAN = {"w": np.full((2, 3), 0.25, np.float32), "steps": np.array(7)}
METRICS = {"loss": 0.5}


def answer(values: Any = MEAN, *, round_number: int = 0, kind: str = DataKind.WEIGHTS, **metrics: float) -> Shareable:
    meta = {MetaKey.NUM_STEPS_CURRENT_ROUND: 1, MetaKey.INITIAL_METRICS: {**METRICS, **metrics}}
    shareable: Shareable = DXO(
        kind, data={name: np.array(one) for name, one in values.items()}, meta=meta
    ).to_shareable()
    shareable.set_header(AppConstants.CURRENT_ROUND, round_number)
    return shareable


class Server:
    """The two filters of one job, and why it was ended."""

    def __init__(self) -> None:
        aggregator, self.context, self.panics = HekatAggregator({}), FLContext(), []
        self.context.get_engine = lambda: SimpleNamespace(get_component={SHAPES_ID: aggregator}.__getitem__)
        self.results = SameAnswers()
        self.results.system_panic = lambda reason, context: self.panics.append(reason)

    def send(self, round_number: int) -> None:
        task = DXO(DataKind.WEIGHTS, data=dict(MEAN)).to_shareable()
        task.set_header(AppConstants.CURRENT_ROUND, round_number)
        for _ in PARTIES:
            assert NoteRound().process(task, self.context) is task

    def take(self, shareable: Shareable) -> Shareable:
        return self.results.process(shareable, self.context)


@pytest.fixture
def server() -> Server:
    made = Server()
    made.send(0)
    return made


def test_equal_answers_pass_round_after_round(server: Server) -> None:
    for number in range(3):
        server.send(number)
        for _ in PARTIES:
            given = answer({"w": MEAN["w"] + np.float32(number)}, round_number=number)
            assert server.take(given) is given
    assert server.panics == []


OTHERS = {
    "value": lambda: answer({**MEAN, "w": MEAN["w"] + np.float32(3000)}),
    "last bit": lambda: answer({**MEAN, "w": np.nextafter(MEAN["w"], np.float32(1))}),
    "dtype": lambda: answer({**MEAN, "w": MEAN["w"].astype(np.float64)}),
    "shape": lambda: answer({**MEAN, "w": MEAN["w"].reshape(3, 2)}),
    "one more tensor": lambda: answer({**MEAN, "b": np.zeros(1)}),
    "difference": lambda: answer(kind=DataKind.WEIGHT_DIFF),
    "metric": lambda: answer(loss=9.0),
    "one more metric": lambda: answer(f1=9.0),
    "no model": Shareable,
    "no numbers": lambda: answer({"w": np.array(["a"])}),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_answer_reaches_no_average_and_ends_the_job(server: Server, name: str) -> None:
    other = OTHERS[name]()
    other.set_header(AppConstants.CURRENT_ROUND, 0)
    server.take(answer())
    with pytest.raises(RuntimeError, match="different means"):
        server.take(other)
    assert len(server.panics) == 1
    assert "different means" in server.panics[0]


@pytest.mark.parametrize("name", OTHERS)
def test_whoever_hands_in_another_one_first_ends_the_job_too(server: Server, name: str) -> None:
    other = OTHERS[name]()
    other.set_header(AppConstants.CURRENT_ROUND, 0)
    for given in (other, answer()):
        with suppress(RuntimeError):
            server.take(given)
    assert len(server.panics) == 1


@pytest.mark.parametrize("said", [0, 2, None, "1"])
def test_an_answer_of_another_round_is_dropped_and_ends_nothing(server: Server, said: Any) -> None:
    """Late, or by a site that says so to have it compared with nothing."""
    server.send(1)
    server.take(answer(round_number=1))
    late = answer({**MEAN, "w": MEAN["w"] + 1})
    late.set_header(AppConstants.CURRENT_ROUND, said)
    with pytest.raises(RuntimeError, match="another round"):
        server.take(late)
    assert server.panics == []


def test_a_site_that_failed_is_the_protections_matter(server: Server) -> None:
    failed = make_reply(ReturnCode.EXECUTION_EXCEPTION)
    assert server.take(failed) is failed
    assert server.panics == []


@pytest.mark.parametrize("learns", [False, True])
def test_a_job_whose_server_learns_the_model_has_the_filters(tmp_path: Path, learns: bool) -> None:
    recipe = a_recipe(tmp_path)
    protect(recipe, parties=PARTIES, server_learns_model=learns)
    recipe.export(str(tmp_path / "out"))
    (file,) = (tmp_path / "out").rglob("config_fed_server.json")
    content = json.loads(file.read_text())
    names = ("NoteRound", "SameAnswers") if learns else ("SendModelOnce", "SpreadZeros")
    for part, name in zip(("task_data_filters", "task_result_filters"), names, strict=True):
        paths = [one["path"] for entry in content[part] for one in entry["filters"]]
        assert [path.rpartition(".")[2] for path in paths] == [name]
