"""What goes out to monitors: figures for Prometheus, spans, aggregates for MLflow; and what never does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tests.live.conftest import ledger_line, make_state, play, round_event, started_event

from hekat.errors import InputError
from hekat.live.export.aggregates import aggregates_of, settings_of, steps_done
from hekat.live.export.spans import MOST_STEPS, SpanBuilder, nanoseconds
from hekat.live.facts import EventWritten, LedgerWritten, PartyLost, PhaseBegun, RoleRead, RunEnded
from hekat.live.state import Machine, RoleWork, RoundPoint, Tells

# What no party but its own may know, in every place where a run could carry it; a site's test set is its own too.
PLANTED = ("0.71727374", "planted-reason", "planted-party", "61626364", "planted-tells", "planted-path")


def planted_facts() -> list:
    figures = RoleWork("north", {"train": 0.71727374}, 61626364, 61626364, 61626364, 61626364, 0.71727374, 61626364)
    tells = (Tells("disclosed", "planted-tells", 61626364),)
    alone = {
        "time": "2026-01-02T10:00:01+00:00",
        "event": "alone",
        "party": "planted-party",
        "metrics": {"auc": 0.71727374},
    }
    return [
        EventWritten(started_event()),
        EventWritten(alone),
        EventWritten({"event": "intersection", "common": 61626364}),
        EventWritten({"event": "resumed", "run": "planted-path"}),
        PhaseBegun("encrypted", 61626364),
        LedgerWritten(ledger_line("hub", "received", peer="planted-party", tells=tells, payload_bytes=61626364)),
        LedgerWritten(ledger_line("hub", "note", "round-1/note", "", tells=tells)),
        RoleRead(figures),
        PartyLost("planted-party", "round-1", "planted-reason"),
        EventWritten(round_event(1, "plain", 4, loss=0.71727374, validation={"auc": 0.71727374})),
        EventWritten(round_event(1, loss=0.25, clipped=61626364, bounds={"w": 0.71727374}, metrics={"auc": 0.71727374},
                                 validation={"log_loss": 0.125, "planted-party rows": 61626364})),
        RunEnded(),
    ]  # fmt: skip


def planted_state():
    return make_state(values_each_round=61626364, machine=Machine(memory_bytes=61626364))


def test_aggregates_are_those_of_the_opened_sum_by_name() -> None:
    state = make_state()
    point = RoundPoint("encrypted", 1, 0.5, "", {"auc": 0.9}, {"auc": 0.8, "rmse": 1.5, "rows": 7.0}, 3.0)
    assert aggregates_of(state, point) == {"loss": 0.5, "held_out_auc": 0.8, "held_out_rmse": 1.5}
    assert aggregates_of(state, RoundPoint("plain", 1, 0.5)) == {}
    assert aggregates_of(make_state(protocol="vertical_linear"), RoundPoint("training", 1, 0.5)) == {}
    trees = make_state(protocol="horizontal_trees")
    assert aggregates_of(trees, point) == {"loss": 0.5, "held_out_auc": 0.8, "held_out_rmse": 1.5}
    # Sums of an iteration tell the losses of the model that came into it.
    assert (steps_done(state, point), steps_done(trees, point)) == (1, 0)
    final = RoundPoint("encrypted", 13, 0.25, validation={"auc": 0.75}, is_final=True)
    assert (steps_done(state, final), steps_done(trees, final)) == (12, 12)
    assert aggregates_of(trees, final) == {"loss": 0.25, "held_out_auc": 0.75}
    assert aggregates_of(make_state(protocol="vertical_trees"), RoundPoint("training", 1, 0.5)) == {}
    assert settings_of(state) == {"job": "clinics", "protocol": "horizontal", "protection": "lattice"}


def test_prometheus_reads_figures_and_no_ledger() -> None:
    prometheus = pytest.importorskip("hekat.live.export.prometheus", reason="needs hekat[live]")
    facts = [
        EventWritten(started_event()),
        PhaseBegun("encrypted", 4),
        RoleRead(RoleWork("north", {"train": 2.0}, 30, 40, waiting_s=3.0)),
        LedgerWritten(ledger_line("hub", "received")),
        EventWritten(round_event(1, validation={"rmse": 2.0})),
    ]
    data, media_type = prometheus.write_metrics(play(make_state(values_each_round=10), facts))
    lines = data.decode().splitlines()
    for line in (
        'hekat_status{status="running"} 1.0',
        'hekat_rounds_planned{phase="encrypted"} 4.0',
        'hekat_work_seconds_total{part="train",role="north"} 2.0',
        'hekat_sealed_bytes_total{direction="sent",role="north"} 30.0',
        'hekat_waiting_seconds{role="north"} 3.0',
        "hekat_plain_bytes_total 40.0",
        'hekat_loss{phase="encrypted"} 0.5',
        'hekat_metric{metric="auc",phase="encrypted",rows="common_test"} 0.9',
        'hekat_metric{metric="rmse",phase="encrypted",rows="held_out"} 2.0',
    ):
        assert line in lines
    assert "keyed digest" not in data.decode()
    assert media_type.startswith("text/plain")


def test_spans_hold_the_steps_of_each_round() -> None:
    builder = SpanBuilder()
    first = ledger_line("hub", "sent", time="2026-01-02T10:00:03+00:00")
    last = ledger_line("hub", "received", time="2026-01-02T10:00:04+00:00")
    before = ledger_line("hub", "sent", "start", time="2026-01-02T10:00:01+00:00")
    (span,) = builder.take([EventWritten(round_event(1)), *map(LedgerWritten, (before, first, last))])
    assert (span.name, span.attributes) == ("hekat.round", {"hekat.phase": "encrypted", "hekat.round": 1})
    assert (span.start_ns, span.end_ns) == (nanoseconds(first.time), nanoseconds("2026-01-02T10:00:05+00:00"))
    (step,) = span.inner
    assert step.attributes == {"hekat.role": "hub", "hekat.step": "round-1/upload-4/dealt"}
    assert step.end_ns - step.start_ns == 1_000_000_000
    assert [one.attributes["hekat.step"] for one in builder.rest()] == ["start"]


@pytest.mark.parametrize(
    ("counter", "step"), [("iteration", "tree-2/level-0/upload-7/dealt"), ("epoch", "epoch-2/batch-1/gradient")]
)
def test_iterations_of_trees_and_epochs_are_spans_with_their_steps(counter: str, step: str) -> None:
    builder = SpanBuilder()
    line = ledger_line("hub", "sent", step, time="2026-01-02T10:00:03+00:00")
    event = {"event": counter, counter: 2, "loss": 0.5, "time": "2026-01-02T10:00:05.000+00:00"}
    (span,) = builder.take([LedgerWritten(line), EventWritten(event)])
    assert (span.name, span.attributes) == ("hekat.round", {"hekat.phase": "training", "hekat.round": 2})
    assert [one.attributes["hekat.step"] for one in span.inner] == [step]
    assert builder.rest() == []


def test_spans_of_a_round_are_bounded_and_what_is_left_out_is_counted() -> None:
    lines = [LedgerWritten(ledger_line("hub", "sent", f"round-1/{number}")) for number in range(MOST_STEPS + 3)]
    (span,) = SpanBuilder().take([*lines, EventWritten(round_event(1))])
    assert len(span.inner) == MOST_STEPS
    assert span.attributes["hekat.messages_left_out"] == 3


@pytest.mark.parametrize("text", ["", "x", "2026-01-02T10:00:00", None])
def test_a_time_of_another_form_is_none(text) -> None:
    assert nanoseconds(text) == 0


def test_traces_carry_public_names_and_no_value() -> None:
    pytest.importorskip("opentelemetry.sdk", reason="needs hekat[traces]")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from hekat.live.export.traces import TraceSink

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    sink, state = TraceSink(provider.get_tracer("hekat")), planted_state()
    for fact in planted_facts():
        state = play(state, [fact])
        sink.take(state, [fact])
    spans = exporter.get_finished_spans()
    assert [span.name for span in spans] == ["hekat.round", "hekat.step", "hekat.round", "hekat.run"]
    assert len({span.context.trace_id for span in spans}) == 1
    sent = " ".join(span.to_json() for span in spans)
    assert [word for word in PLANTED if word in sent] == []
    assert spans[-1].attributes["hekat.status"] == "finished"


def test_an_exporter_that_is_not_set_up_is_refused(monkeypatch) -> None:
    pytest.importorskip("opentelemetry.sdk", reason="needs hekat[traces]")
    from hekat.live.export.traces import Tracing

    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "zipkin")
    with pytest.raises(InputError, match="OTEL_TRACES_EXPORTER"):
        Tracing()


class Tracker(ThreadingHTTPServer):
    """Answers as an MLflow tracking server does, and keeps every byte that it was sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.sent: list[tuple[str, str]] = []


class Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.take("")
        found = "get-by-name" in self.path or "experiments/get" in self.path
        self.answer(
            {"experiment": {"experiment_id": "7", "name": "hekat/clinics", "lifecycle_stage": "active"}}
            if found
            else {}
        )

    def do_POST(self) -> None:
        self.take(self.rfile.read(int(self.headers.get("Content-Length", 0))).decode())
        info = {"run_id": "r1", "run_uuid": "r1", "experiment_id": "7", "status": "RUNNING", "start_time": 1,
                "lifecycle_stage": "active", "artifact_uri": ""}  # fmt: skip
        self.answer({"run": {"info": info, "data": {}}, "run_info": info})

    def take(self, body: str) -> None:
        self.server.sent.append((self.path, f"{self.headers}{body}"))

    def answer(self, content: dict) -> None:
        data = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def tracker() -> Iterator[Tracker]:
    with Tracker() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.long
def test_mlflow_is_sent_aggregates_and_nothing_else(tracker, monkeypatch) -> None:
    """Long: its client takes seconds to load."""
    pytest.importorskip("mlflow", reason="needs hekat[mlflow]")
    from hekat.live.export.mlflow_log import MlflowLog

    monkeypatch.setenv("LOGNAME", "planted-party")
    state = planted_state()
    with MlflowLog(f"http://127.0.0.1:{tracker.server_port}", state) as log:
        for fact in planted_facts():
            state = play(state, [fact])
            log.take(state, [fact])
    assert log.failure == ""
    sent = "\n".join(f"{path} {text}" for path, text in tracker.sent)
    assert [word for word in PLANTED if word in sent] == []
    metrics = [json.loads(text[text.index("{") :]) for path, text in tracker.sent if path.endswith("runs/log-metric")]
    assert [(one["key"], one["value"], int(one["step"])) for one in metrics] == [
        ("loss", 0.25, 1),
        ("held_out_log_loss", 0.125, 1),
    ]
    assert any('"FINISHED"' in text for path, text in tracker.sent if path.endswith("runs/update"))
    asked = {path.split("?")[0].rpartition("/mlflow/")[2] for path, _ in tracker.sent}
    of_runs = {f"runs/{name}" for name in ("create", "get", "log-parameter", "log-metric", "set-tag", "update")}
    assert asked <= {"experiments/get-by-name", *of_runs}


@pytest.mark.long
def test_what_is_refused_before_the_run_leaves_none_that_seems_to_go_on(tracker) -> None:
    """Long: MLflow's client takes seconds to load."""
    pytest.importorskip("mlflow", reason="needs hekat[mlflow]")
    from hekat.live.export.mlflow_log import MlflowLog

    with pytest.raises(InputError), MlflowLog(f"http://127.0.0.1:{tracker.server_port}", make_state()):
        raise InputError("no such port", expected="another", got="this one", cure="choose another")
    assert any('"FAILED"' in text for path, text in tracker.sent if path.endswith("runs/update"))


@pytest.mark.long
def test_a_tracking_server_that_is_not_there_is_refused_before_the_run(monkeypatch) -> None:
    pytest.importorskip("mlflow", reason="needs hekat[mlflow]")
    from hekat.live.export.mlflow_log import MlflowLog

    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(InputError, match="takes no run"):
        MlflowLog("http://127.0.0.1:9", make_state())
