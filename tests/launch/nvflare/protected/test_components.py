"""The components of a protected job: what a task's result is stripped of, and what a recipe must not have."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("nvflare", reason="needs hekat[nvflare]")

from nvflare.apis.dxo import DXO, DataKind, MetaKey, from_shareable
from nvflare.apis.event_type import EventType
from nvflare.apis.fl_constant import FLContextKey, ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.app_common.aggregators.model_aggregator import ModelAggregator
from nvflare.app_common.app_constant import AppConstants
from nvflare.app_common.filters.svt_privacy import SVTPrivacy
from nvflare.app_common.np.recipes.fedavg import NumpyFedAvgRecipe
from nvflare.recipe.sim_env import SimEnv
from tests.launch.nvflare.protected.apps import PARTIES, Sites

from hekat.errors import HekatError, InputError, JobError, PolicyError
from hekat.launch.nvflare.protected.app_party import Answer, Update
from hekat.launch.nvflare.protected.app_process import AppProcess
from hekat.launch.nvflare.protected.components import PARTY_ID, HekatAggregator, HekatParty, SumUpdate
from hekat.launch.nvflare.protected.lean_filters import SHAPES_ID, SendModelOnce, SpreadZeros
from hekat.nvflare import protect

SECRET = "4.75"


class _App:
    """Stands for the party's side; keeps what it was given."""

    rounds_handed_in = 1

    def __init__(self) -> None:
        self.updates: list[Update] = []

    def sum_up(self, update: Update) -> Answer:
        self.updates.append(update)
        return Answer({name: np.zeros_like(value) for name, value in update.values.items()})


def a_party(app: _App) -> HekatParty:
    party = HekatParty({}, "train")
    party._process = SimpleNamespace(app=app, handover=SimpleNamespace(abandon=lambda error: None))
    return party


def result_of(meta: dict[str, Any], kind: str = DataKind.WEIGHTS) -> Shareable:
    shareable = DXO(kind, data={"w": np.full(3, 4.75)}, meta=meta).to_shareable()
    shareable.set_header("site_note", SECRET)
    shareable["beside"] = SECRET
    return shareable


def pass_filter(party: HekatParty, shareable: Shareable) -> Shareable:
    context = FLContext()
    engine = SimpleNamespace(get_component={PARTY_ID: party}.__getitem__)
    context.get_engine = lambda: engine
    return SumUpdate().process(shareable, context)


def test_of_a_result_nothing_but_zeros_and_a_weight_of_one_leaves() -> None:
    app = _App()
    meta = {MetaKey.NUM_STEPS_CURRENT_ROUND: 77.0, MetaKey.INITIAL_METRICS: {"loss": 4.75, "x": "4.75"}, "n": SECRET}
    reply = pass_filter(a_party(app), result_of(meta))
    dxo = from_shareable(reply)
    assert (app.updates[0].weight, app.updates[0].metrics) == (77, {"loss": 4.75})
    assert dxo.data_kind == DataKind.WEIGHTS
    assert dict(dxo.meta) == {MetaKey.NUM_STEPS_CURRENT_ROUND: 1}
    np.testing.assert_array_equal(dxo.data["w"], np.zeros(3))
    assert SECRET not in repr(dict(reply))
    assert "77" not in repr(dict(reply))


@pytest.mark.parametrize(
    "shareable",
    [
        lambda: DXO(DataKind.METRICS, data={"accuracy": 4.75}).to_shareable(),
        lambda: Shareable({"model": 4.75}),
        lambda: result_of({MetaKey.PROCESSED_ALGORITHM: "HE"}),
        lambda: result_of({MetaKey.NUM_STEPS_CURRENT_ROUND: 0.5}),
        lambda: DXO(DataKind.COLLECTION, data={"a": DXO(DataKind.WEIGHTS, data={"w": np.ones(1)})}).to_shareable(),
    ],
    ids=["metrics alone", "no DXO", "encoded", "half a step", "a collection"],
)
def test_what_is_no_update_is_refused_without_a_word_of_it(shareable: Callable[[], Shareable]) -> None:
    with pytest.raises(RuntimeError, match="hekat: the role ended by InputError") as caught:
        pass_filter(a_party(_App()), shareable())
    assert caught.value.__context__ is None  # the engine logs what led to an exception
    assert "4.75" not in str(caught.value)


def test_a_failed_task_sends_its_code_alone() -> None:
    failed = make_reply(ReturnCode.EXECUTION_RESULT_ERROR)
    failed["beside"] = SECRET
    assert SECRET not in repr(dict(pass_filter(a_party(_App()), failed)))


def test_the_model_goes_to_sites_once_and_the_servers_workflow_gets_zeros_of_its_shapes() -> None:
    """A workflow that persists a PyTorch model refuses other shapes."""
    aggregator, context = HekatAggregator({}), FLContext()
    context.get_engine = lambda: SimpleNamespace(get_component={SHAPES_ID: aggregator}.__getitem__)
    model = {"w": np.full((2, 3), 4.75, np.float32), "steps": np.array(7)}

    def task(round_number: int) -> DXO:
        sent = DXO(DataKind.WEIGHTS, data=dict(model)).to_shareable()
        sent.set_header(AppConstants.CURRENT_ROUND, round_number)
        return from_shareable(SendModelOnce().process(sent, context))

    for _ in PARTIES:
        assert task(0).data == model
    again = task(1).data
    assert {name: (value.shape, value.dtype, float(value[0])) for name, value in again.items()} == {
        "w": ((1,), np.float32, 0.0),
        "steps": ((1,), np.int64, 0.0),
    }
    assert model["w"][0, 0] == 4.75
    result = DXO(DataKind.WEIGHT_DIFF, data=again, meta={"n": 1}).to_shareable()
    spread = from_shareable(SpreadZeros().process(result, context))
    assert (spread.data_kind, spread.meta) == (DataKind.WEIGHT_DIFF, {"n": 1})
    for name, value in model.items():
        np.testing.assert_array_equal(spread.data[name], np.zeros_like(value))
        assert spread.data[name].dtype == value.dtype
    failed = make_reply(ReturnCode.EXECUTION_EXCEPTION)
    assert SpreadZeros().process(failed, context) is failed


def after(event: str, party: HekatParty, result: Shareable, task: str) -> Shareable:
    context = FLContext()
    context.set_prop(FLContextKey.TASK_RESULT, result, private=True)
    context.set_prop(FLContextKey.TASK_NAME, task, private=True)
    party.handle_event(event, context)
    return result


def test_another_task_that_a_server_invents_gets_nothing() -> None:
    """Executors may take any task, and filters are for named ones."""
    result = after(EventType.BEFORE_TASK_RESULT_FILTER, a_party(_App()), result_of({}), "submit_model")
    assert SECRET not in repr(dict(result))
    assert result.get_return_code() == ReturnCode.TASK_UNSUPPORTED


def test_a_result_that_came_from_elsewhere_than_the_party_is_stripped() -> None:
    party = a_party(_App())
    own = pass_filter(party, result_of({}))
    assert "DXO" in after(EventType.AFTER_TASK_RESULT_FILTER, party, own, "train")
    pass_filter(party, result_of({}))
    other = after(EventType.AFTER_TASK_RESULT_FILTER, party, result_of({}), "train")
    assert SECRET not in repr(dict(other))


@pytest.mark.parametrize(("has_met", "code", "ends"), [(False, "X", True), (True, "X", False), (False, "OK", False)])
def test_a_site_that_refuses_before_the_run_ends_the_job_for_all(has_met: bool, code: str, ends: bool) -> None:
    aggregator, told = HekatAggregator({}), []
    aggregator._process = SimpleNamespace(has_met=has_met)
    aggregator.system_panic = lambda reason, context: told.append(reason)
    context = FLContext()
    context.set_prop(FLContextKey.TASK_RESULT, make_reply(code), private=True)
    aggregator.handle_event(EventType.BEFORE_PROCESS_SUBMISSION, context)
    assert bool(told) is ends


@pytest.mark.parametrize("has_met", [False, True])
def test_a_site_notes_an_end_before_the_run_before_the_engine_kills_the_process(has_met: bool) -> None:
    """Before END_RUN the engine waits for what streams, and a server that aborts does not wait so long."""
    told: list[str] = []
    for component in (HekatParty({}, "train"), HekatAggregator({})):
        component._process = SimpleNamespace(has_met=has_met, abort=lambda: told.append("aborted"))
        component.handle_event(EventType.ABOUT_TO_END_RUN, FLContext())
    assert told == ([] if has_met else ["aborted", "aborted"])


@pytest.mark.parametrize("has_met", [False, True])
def test_the_server_waits_for_no_last_words_of_a_run_that_never_began(has_met: bool) -> None:
    aggregator, told = HekatAggregator({}), []
    aggregator._process = SimpleNamespace(has_met=has_met, close=lambda *, may_be_early: told.append(may_be_early))
    aggregator.handle_event(EventType.END_RUN, FLContext())
    assert told == [has_met]


@pytest.mark.parametrize("has_ended", [True, False])
def test_a_role_that_still_delivers_over_a_slow_link_is_not_cut_short(has_ended: bool) -> None:
    process, told = object.__new__(AppProcess), []
    ends = iter([False, True, True])
    process.handover = SimpleNamespace(is_over=False, finish=lambda: None, wait_for_end=lambda within_s: next(ends))
    process._state, process._channel = Lock(), SimpleNamespace(last_words=SimpleNamespace(has_begun=has_ended))
    process.abort = lambda: told.append("aborted")
    process.close(may_be_early=True)
    assert told == ([] if has_ended else ["aborted"])


class _Sum(ModelAggregator):
    def accept_model(self, model: Any) -> None: ...
    def aggregate_model(self) -> Any: ...
    def reset_stats(self) -> None: ...


def a_recipe(place: Path, **changed: Any) -> NumpyFedAvgRecipe:
    script = place / "client.py"
    script.write_text("")
    named = {"name": "app", "min_clients": 3, "num_rounds": 2, "model": [0.0], "train_script": str(script), **changed}
    return NumpyFedAvgRecipe(**named)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "aggregator": ({"aggregator": _Sum()}, "custom aggregator"),
    "weights": ({"aggregation_weights": {"lake": 2.0}}, "weighs sites"),
    "sampling": ({"min_clients": 2}, "samples clients"),
    "stop": ({"stop_cond": "accuracy >= 80"}, "stops by metrics"),
    "exclude": ({"exclude_vars": "b"}, "leaves variables out"),
}


@pytest.mark.parametrize(("changed", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_protected_is_refused_with_the_cure(tmp_path: Path, changed: Any, why: str) -> None:
    recipe = a_recipe(tmp_path, **changed)
    with pytest.raises(InputError, match=why) as caught:
        protect(recipe, parties=PARTIES)
    assert caught.value.cure
    assert "hekat_aggregator" not in recipe._job._deploy_map["server"].app_config.components


def test_filters_and_streams_beside_hekat_are_refused(tmp_path: Path) -> None:
    recipe = a_recipe(tmp_path)
    recipe.add_client_output_filter(SVTPrivacy(), tasks=["train"])
    with pytest.raises(InputError, match="filter beside Hekat's"):
        protect(recipe, parties=PARTIES)
    recipe = a_recipe(tmp_path)
    recipe.enable_log_streaming()
    with pytest.raises(InputError, match="more than results"):
        protect(recipe, parties=PARTIES)
    recipe = a_recipe(tmp_path)
    protect(recipe, parties=PARTIES)
    recipe.add_client_output_filter(SVTPrivacy(), tasks=["train"])
    with pytest.raises(InputError, match="filter beside Hekat's"):
        recipe.run(SimEnv(clients=list(PARTIES), workspace_root=str(tmp_path)))


@pytest.mark.parametrize(
    "named",
    [{}, {"parties": PARTIES[:2]}, {"parties": "north"}, {"parties": PARTIES, "job": "job.toml"}, {"job": "none.toml"}],
)
def test_parties_or_a_job_and_at_least_three(tmp_path: Path, named: Any) -> None:
    with pytest.raises((InputError, PolicyError, JobError)):
        protect(a_recipe(tmp_path), **named)


def test_other_clients_than_the_parties_are_refused(tmp_path: Path) -> None:
    recipe = a_recipe(tmp_path)
    protect(recipe, parties=PARTIES)
    with pytest.raises(InputError, match="other sites"):
        recipe.run(SimEnv(clients=["north", "lake", "sea"], workspace_root=str(tmp_path)))


def test_the_job_carries_no_code_of_hekat_no_key_and_no_tracking(tmp_path: Path) -> None:
    sites = Sites(tmp_path / "sites")
    (tmp_path / "job.toml").write_bytes(sites.order(rounds=2).job_text)
    recipe = a_recipe(tmp_path)
    app = protect(recipe, job=tmp_path / "job.toml")
    recipe.export(str(tmp_path / "out"))
    files = {path.name: path.read_text() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert not [name for name in files if "hekat" in name]
    text = "".join(files.values())
    assert "hekat-party-private" not in text
    assert "ConvertToFedEvent" not in text
    client = json.loads(files["config_fed_client.json"])
    assert [one["tasks"] for one in client["executors"]] == [["train"]]
    order = next(one["args"]["order"] for one in client["components"] if one["id"] == PARTY_ID)
    assert order["run_id"] == app.run_id
    with pytest.raises(HekatError, match="protected already"):
        protect(recipe, job=tmp_path / "job.toml")
