"""A whole Flower app: its own strategy and client code, over a grid in memory and real party processes at sockets."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.launch.flower.loop_sites import LIMIT_S, PARTIES, WEIGHTS, LoopSites, first_state, make_sites, mean_of, train

from hekat.errors import HekatError, InputError, JobError, PolicyError, ProtocolError, StateError
from hekat.launch.flower.party_process import PartyProcess
from hekat.launch.flower.party_run import PartyRun
from hekat.state.model_file import load_model

pytest.importorskip("flwr", reason="needs hekat[flower]")

from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Error, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAdam, FedAvg, FedMedian, FedProx
from flwr.supercore.task_identity import TaskIdentity

from hekat.flower import Protected, protected

SECRET = 0.123456789


def to_record(arrays: Any) -> ArrayRecord:
    return ArrayRecord({name: Array(values) for name, values in arrays.items()})


def make_app(party: str, mods: list[Any] | None = None, fails: bool = False) -> ClientApp:
    """The code of any Flower app; `seen` notes the models that it was given."""
    app = ClientApp(mods=[protected] if mods is None else mods)
    app.seen = []  # type: ignore[attr-defined]

    @app.train()
    def train_here(message: Message, context: Context) -> Message:
        if fails:
            raise ValueError(f"row 17 holds {SECRET}")
        model = {name: array.numpy() for name, array in message.content["arrays"].items()}
        app.seen.append(model)  # type: ignore[attr-defined]
        metrics = MetricRecord({"num-examples": WEIGHTS[party], "loss": SECRET, "diverged": float("nan")})
        return Message(RecordDict({"arrays": to_record(train(party, model)), "metrics": metrics}), reply_to=message)

    @app.evaluate()
    def evaluate_here(message: Message, context: Context) -> Message:
        value = float(message.content["arrays"]["weight"].numpy()[0, 0])
        metrics = MetricRecord({"num-examples": WEIGHTS[party], "mean": value})
        return Message(RecordDict({"metrics": metrics}), reply_to=message)

    return app


class FakeGrid:
    """Runs the app of a node as a message is pushed, and brings its reply; `seen` has all that the server ever got."""

    def __init__(self, sites: LoopSites, apps: dict[str, ClientApp]) -> None:
        self.nodes = {number + 1: party for number, party in enumerate(apps)}
        self._sites, self._apps = sites, apps
        self._replies: dict[str, Message] = {}
        self.seen: list[Message] = []
        self.with_arrays: list[str] = []
        self.silent: set[str] = set()
        self.change: Callable[[str, RecordDict], None] = lambda party, content: None

    def get_node_ids(self) -> Iterable[int]:
        return list(self.nodes)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        ids = []
        for message in messages:
            message.metadata.__dict__["_message_id"] = str(uuid.uuid4())
            ids.append(message.metadata.message_id)
            party = self.nodes[message.metadata.dst_node_id]
            records = message.content.array_records
            self.with_arrays += [party for name in records if name != "hekat.parcels" and len(records[name])]
            if party in self.silent:
                continue
            config = {"party": party, "hekat-socket": str(self._sites.folder / f"{party}.sock")}
            self.change(party, message.content)
            context = Context(1, message.metadata.dst_node_id, config, RecordDict(), {})
            try:
                reply = self._apps[party](message, context)
            except Exception as error:
                # As flwr-clientapp does: the text of the error goes to the server.
                reply = Message(Error(2, f"{type(error)}:<'{error}'>"), reply_to=message)
            self._replies[message.metadata.message_id] = reply
            self.seen.append(reply)
        return ids

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        return [self._replies.pop(one) for one in message_ids if one in self._replies]


@pytest.fixture(autouse=True)
def _task() -> None:
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1


@contextmanager
def processes(sites: LoopSites) -> Iterator[None]:
    with ExitStack() as stack:
        for party in sites.parties:
            process = PartyProcess(sites.load(party), sites.folder / f"{party}.sock", idle_s=LIMIT_S, linger_s=1.0)
            thread = threading.Thread(target=process.serve, daemon=True)
            thread.start()
            stack.callback(thread.join, LIMIT_S)
            stack.callback(process.stop)
        yield


def strategy_of(sites: LoopSites, strategy: Any = None, **settings: Any) -> Protected:
    settings = {
        "job": sites.job_path,
        "site": sites.site_file("aggregator"),
        "runs": sites.runs("aggregator"),
    } | settings
    return Protected(strategy or FedAvg(), list(sites.parties), poll_s=0.01, **settings)


def run_app(sites: LoopSites, strategy: Protected, apps: dict[str, ClientApp] | None = None, **start: Any) -> Any:
    grid = FakeGrid(sites, apps or {party: make_app(party) for party in sites.parties})
    start = {"num_rounds": sites.job.round_count, "timeout": LIMIT_S} | start
    with processes(sites):
        return grid, strategy.start(grid, initial_arrays=to_record(first_state()), **start)


def values_in(message: Message) -> bytes:
    """All that a reply holds, the sealed parcels apart."""
    if message.has_error():
        return str(message.error.reason).encode()
    parts = [repr((name, dict(record))).encode() for name, record in message.content.config_records.items()]
    parts += [repr((name, dict(record))).encode() for name, record in message.content.metric_records.items()]
    for name, record in message.content.array_records.items():
        if name != "hekat.parcels":
            parts += [bytes(array.data) for array in record.values()]
    return b"|".join(parts)


def models_at(sites: LoopSites) -> dict[str, dict[str, np.ndarray]]:
    return {party: load_model(next(sites.runs(party).glob("*/model.npz")))[0] for party in sites.parties}


@pytest.mark.long
def test_an_unmodified_app_trains_and_every_site_has_the_weighted_mean(tmp_path: Path) -> None:
    sites = make_sites(tmp_path)
    apps = {party: make_app(party) for party in PARTIES}
    _, result = run_app(sites, strategy_of(sites), apps)
    assert len(result.arrays) == 0
    models = models_at(sites)
    moved = mean_of(PARTIES, lambda party: train(party, first_state()), "weight")
    for party in PARTIES:
        np.testing.assert_allclose(models[party]["weight"], 2 * moved, atol=1e-3)
        np.testing.assert_array_equal(models[party]["weight"], models["north"]["weight"])
        first, second = apps[party].seen  # type: ignore[attr-defined]
        np.testing.assert_array_equal(first["weight"], first_state()["weight"])
        np.testing.assert_allclose(second["weight"], moved, atol=1e-3)
        events = (next(sites.runs(party).glob("*/metrics.jsonl"))).read_text()
        assert events.count('"evaluate"') == events.count('"train"') == 2


@pytest.mark.long
def test_the_server_sees_no_array_no_weight_and_no_metric(tmp_path: Path) -> None:
    sites = make_sites(tmp_path)
    grid, result = run_app(sites, strategy_of(sites))
    for reply in grid.seen:
        assert str(SECRET).encode() not in values_in(reply)
        assert set(reply.content) == {"hekat", "hekat.parcels"}
    assert not result.train_metrics_clientapp
    assert not result.evaluate_metrics_clientapp
    secrets = [train(party, first_state())["weight"].tobytes() for party in PARTIES]
    carried = [bytes(array.data) for reply in grid.seen for array in reply.content["hekat.parcels"].values()]
    assert not any(secret in parcel for secret in secrets for parcel in carried)


@pytest.mark.long
def test_the_initial_arrays_are_sent_once_and_no_model_after(tmp_path: Path) -> None:
    sites = make_sites(tmp_path)
    grid, _ = run_app(sites, strategy_of(sites))
    assert sorted(grid.with_arrays) == sorted(PARTIES)


def test_the_text_of_a_failing_app_stays_at_the_site(tmp_path: Path) -> None:
    sites = make_sites(tmp_path)
    apps = {party: make_app(party, fails=party == "lake") for party in PARTIES}
    grid = FakeGrid(sites, apps)
    with processes(sites), pytest.raises(HekatError):
        strategy_of(sites).start(grid, to_record(first_state()), num_rounds=2, timeout=LIMIT_S)
    assert not any(str(SECRET).encode() in values_in(reply) for reply in grid.seen)


@pytest.mark.long
def test_a_site_that_cannot_note_metrics_leaves_and_says_so(tmp_path: Path) -> None:
    four = (*PARTIES, "river")
    sites = make_sites(tmp_path, four)
    noted = PartyRun.note_metrics

    def full(run: PartyRun, kind: str, number: int, metrics: Any) -> None:
        if run._loop.role == "river" and number == 2:
            raise StateError(f"{sites.folder} is full")
        noted(run, kind, number, metrics)

    told: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PartyRun, "note_metrics", full)
        patch.setattr("hekat.launch.flower.strategy.log", lambda level, text, *values: told.append(text % values))
        run_app(sites, strategy_of(sites), {party: make_app(party) for party in four})
    assert [line for line in told if line.startswith("LOST")] == ["LOST river: TrainingFailedError"]
    outcome = sites.outcome("river", next(sites.runs("river").glob("*.json")).name.partition(".")[0])
    assert (outcome.kind, "StateError" in outcome.error) == ("TrainingFailedError", True)
    assert set(PARTIES) == {party for party in four if list(sites.runs(party).glob("*/model.npz"))}


def test_an_app_whose_arrays_cannot_be_summed_leaves(tmp_path: Path) -> None:
    sites = make_sites(tmp_path)
    trained = train

    def with_texts(party: str, state: Any) -> Any:
        made = trained(party, state)
        return {**made, "notes": np.array(["text"])} if party == "lake" else made

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "train", with_texts)
        with pytest.raises(HekatError):
            run_app(sites, strategy_of(sites))
    outcome = sites.outcome("lake", next(sites.runs("lake").glob("*.json")).name.partition(".")[0])
    assert (outcome.kind, "InputError" in outcome.error) == ("TrainingFailedError", True)


@pytest.mark.long
def test_a_node_that_goes_silent_is_lost_and_the_others_finish(tmp_path: Path) -> None:
    four = (*PARTIES, "river")
    sites = make_sites(tmp_path, four)
    apps = {party: make_app(party) for party in four}
    grid = FakeGrid(sites, apps)
    trained = train

    def leave(party: str, state: Any) -> Any:
        if party == "river" and np.any(state["weight"]):
            grid.silent.add("river")
        return trained(party, state)

    with processes(sites), pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "train", leave)
        strategy_of(sites).start(grid, to_record(first_state()), num_rounds=2, timeout=2.0)
    assert len([party for party in PARTIES if list(sites.runs(party).glob("*/model.npz"))]) == 3
    assert not list(sites.runs("river").glob("*/model.npz"))


@pytest.mark.long
def test_a_server_that_may_learn_the_model_has_the_sites_mean(tmp_path: Path) -> None:
    sites = make_sites(tmp_path, more="server_learns_model = true")
    for party in PARTIES:
        sites.add_policy(party, "server_learns_model = true")
    seen: list[int] = []

    def measure(number: int, arrays: ArrayRecord) -> MetricRecord:
        seen.append(number)
        return MetricRecord({"first": float(arrays["weight"].numpy()[0, 0])})

    grid, result = run_app(sites, strategy_of(sites, server_learns_model=True), evaluate_fn=measure)
    assert sorted(grid.with_arrays) == sorted(PARTIES)
    models = models_at(sites)
    np.testing.assert_array_equal(result.arrays["weight"].numpy(), models["north"]["weight"])
    assert seen == [0, 1, 2]
    ledger = next(sites.runs("north").glob("*/ledger/north.jsonl")).read_text()
    assert "to the engine's server" in ledger


@pytest.mark.long
def test_a_server_that_learns_the_model_cannot_give_one_site_another(tmp_path: Path) -> None:
    """Sites that train on models of the server's choice would let it read one update in the mean that it is given."""
    sites = make_sites(tmp_path, more="server_learns_model = true")
    for party in PARTIES:
        sites.add_policy(party, "server_learns_model = true")
    apps = {party: make_app(party) for party in PARTIES}
    grid = FakeGrid(sites, apps)
    strategy = strategy_of(sites, server_learns_model=True)
    stepped = type(strategy)._learn

    def forged(self, number, *others):
        return to_record({name: values + 7 for name, values in as_arrays(stepped(self, number, *others)).items()})

    with processes(sites), pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(strategy), "_learn", forged)
        strategy.start(grid, to_record(first_state()), num_rounds=2, timeout=LIMIT_S)
    seen = [apps[party].seen[1]["weight"] for party in PARTIES]  # type: ignore[attr-defined]
    mean = mean_of(PARTIES, lambda party: train(party, first_state()), "weight")
    for trained_on in seen:
        np.testing.assert_array_equal(trained_on, seen[0])
        np.testing.assert_allclose(trained_on, mean, atol=1e-3)


@pytest.mark.parametrize("more", [{"lr": 0.0}, {"mu": 1.0}])
def test_a_server_that_says_one_site_something_else_is_refused_by_name(tmp_path: Path, more: dict[str, float]) -> None:
    """Sites that train on nothing would leave one update alone in the mean."""
    sites = make_sites(tmp_path)
    grid = FakeGrid(sites, {party: make_app(party) for party in PARTIES})

    def change(party: str, content: RecordDict) -> None:
        if party == "lake" and content.config_records["config"].get("server-round") == 2:
            content["config"] = ConfigRecord({**content["config"], **more})

    grid.change = lambda party, content: change(party, content) if "config" in content.config_records else None
    with processes(sites), pytest.raises(ProtocolError, match="no party is left"):
        strategy_of(sites).start(
            grid, to_record(first_state()), num_rounds=2, timeout=LIMIT_S, train_config=ConfigRecord({"lr": 0.1})
        )
    for party in PARTIES:
        outcome = sites.outcome(party, next(sites.runs(party).glob("*.json")).name.partition(".")[0])
        assert outcome.kind == "ProtocolError"
        assert "'what the server said for the round' is not the same at all parties" in outcome.error
        assert "north, county | lake" in outcome.error
        assert [path.name for path in sites.runs(party).glob("*/*.npz")] == ["mean-of-round-1.npz"]


def as_arrays(record: ArrayRecord) -> dict[str, np.ndarray]:
    return {name: array.numpy() for name, array in record.items()}


# --- what a hostile server could send, and what cannot be protected ---------------------------------------------------


def _message(content: RecordDict, kind: str = "train") -> Message:
    return Message(content=content, message_type=kind, dst_node_id=1)


def _context(sites: LoopSites, party: str = "north") -> Context:
    socket = str(sites.folder / f"{party}.sock")
    return Context(1, 1, {"party": party, "hekat-socket": socket}, RecordDict(), {})


@pytest.mark.parametrize("kind", ["train", "evaluate"])
def test_a_message_of_an_unprotected_strategy_trains_nothing(tmp_path: Path, kind: str) -> None:
    """A hostile ServerApp that leaves Protected out would get the update in the clear."""
    sites = make_sites(tmp_path)
    app = make_app("north")
    content = RecordDict({"arrays": to_record(first_state()), "config": ConfigRecord()})
    with pytest.raises(PolicyError, match="no protected strategy"):
        app(_message(content, kind), _context(sites))
    assert not app.seen  # type: ignore[attr-defined]


def test_a_query_is_refused_as_well(tmp_path: Path) -> None:
    sites = make_sites(tmp_path)
    app = make_app("north")

    @app.query()
    def tell(message: Message, context: Context) -> Message:
        return Message(RecordDict({"arrays": to_record(first_state())}), reply_to=message)

    with pytest.raises(PolicyError, match="no protected strategy"):
        app(_message(RecordDict(), "query"), _context(sites))


def test_an_app_without_the_mod_is_found_before_it_has_a_model(tmp_path: Path) -> None:
    sites = make_sites(tmp_path)
    apps = {party: make_app(party, mods=[] if party == "lake" else None) for party in PARTIES}
    grid = FakeGrid(sites, apps)
    with processes(sites), pytest.raises(JobError, match="none of lake"):
        strategy_of(sites).start(grid, to_record(first_state()), num_rounds=2, timeout=LIMIT_S)
    assert not apps["lake"].seen  # type: ignore[attr-defined]


def test_a_stranger_among_the_nodes_is_refused(tmp_path: Path) -> None:
    sites = make_sites(tmp_path)
    apps = {party: make_app(party) for party in PARTIES} | {"stranger": make_app("north", mods=[])}
    grid = FakeGrid(sites, apps)
    with processes(sites), pytest.raises(JobError, match="1 others"):
        strategy_of(sites).start(grid, to_record(first_state()), num_rounds=2, timeout=LIMIT_S)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: FedMedian(), "FedMedian cannot be protected|aggregation of FedMedian"),
        (lambda: FedAdam(), "server's step of FedAdam"),
        (lambda: FedAvg(weighted_by_key="epochs"), "another weighted_by_key"),
        (lambda: FedAvg(fraction_train=0.5), "part of the nodes"),
        (lambda: FedAvg(fraction_evaluate=0.5), "part of the nodes"),
        (lambda: FedAvg(train_metrics_aggr_fn=lambda contents, key: MetricRecord()), "train_metrics_aggr_fn"),
        (lambda: type("Own", (FedAvg,), {"aggregate_train": lambda *a: (None, None)})(), "aggregation of Own"),
        (lambda: object(), "the strategy object"),
    ],
)
def test_what_cannot_be_protected_is_refused_with_the_cure(tmp_path: Path, make: Callable[[], Any], match: str) -> None:
    with pytest.raises(InputError, match=match) as caught:
        strategy_of(make_sites(tmp_path), make())
    assert caught.value.cure


def test_fedprox_and_evaluation_left_out_are_protected(tmp_path: Path) -> None:
    sites = make_sites(tmp_path, rounds=1)
    _, result = run_app(sites, strategy_of(sites, FedProx(proximal_mu=0.1, fraction_evaluate=0.0)))
    assert len(result.arrays) == 0
    assert set(models_at(sites)) == set(PARTIES)


def test_terms_that_differ_from_the_approved_job_are_refused(tmp_path: Path) -> None:
    sites = make_sites(tmp_path)
    arrays = to_record(first_state())
    with pytest.raises(InputError, match="rounds are not the job's"):
        strategy_of(sites).start(FakeGrid(sites, {}), arrays, num_rounds=3)
    with pytest.raises(InputError, match="evaluate_fn"):
        strategy_of(sites).start(FakeGrid(sites, {}), arrays, num_rounds=2, evaluate_fn=lambda *a: None)
    with pytest.raises(PolicyError, match="differ in whether the server learns"):
        strategy_of(sites, server_learns_model=True)
    with pytest.raises(InputError, match="other parties"):
        Protected(FedAvg(), ["a", "b", "c"], job=sites.job_path, site=sites.site_file("aggregator"))
    with pytest.raises(PolicyError, match="too few parties"):
        Protected(FedAvg(), ["a", "b"], job=sites.job_path, site=sites.site_file("aggregator"))


def test_without_files_the_server_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEKAT_FLOWER", raising=False)
    with pytest.raises(JobError, match="HEKAT_FLOWER"):
        Protected(FedAvg(), list(PARTIES))


def test_the_strategy_aggregates_nothing_by_itself(tmp_path: Path) -> None:
    strategy = strategy_of(make_sites(tmp_path))
    with pytest.raises(ProtocolError, match="nothing to aggregate"):
        strategy.aggregate_train(1, [])
    with pytest.raises(ProtocolError, match="nothing to aggregate"):
        strategy.aggregate_evaluate(1, [])


def test_a_seat_of_another_party_is_refused(tmp_path: Path) -> None:
    sites = make_sites(tmp_path)
    apps = {party: make_app(party) for party in PARTIES}
    grid = FakeGrid(sites, apps)
    grid.nodes = {1: "north", 2: "lake", 3: "county"}
    (sites.folder / "county.sock").unlink(missing_ok=True)
    with processes(sites):
        (sites.folder / "county.sock").rename(sites.folder / "own.sock")
        (sites.folder / "county.sock").symlink_to(sites.folder / "lake.sock")
        with pytest.raises(JobError, match="none of county"):
            strategy_of(sites).start(grid, to_record(first_state()), num_rounds=2, timeout=LIMIT_S)
