"""Logs a run's aggregates with MLflow, from a thread of its own: the run never waits for the tracking server."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Sequence
from typing import Any

from hekat.errors import HekatError, InputError
from hekat.live.export.aggregates import aggregates_of, settings_of, steps_done
from hekat.live.export.spans import nanoseconds
from hekat.live.facts import EventWritten, Fact
from hekat.live.state import LiveState, RoundPoint

_MOST_WAITING = 2000
_END_WITHIN_S = 10.0
# The client's own defaults wait for minutes; and what it would tell its makers of its use is nobody's here.
_DEFAULTS = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "10", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2"}
_FORCED = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
_ENDS = {"finished": "FINISHED", "stopped": "FAILED"}


def _order_of(point: RoundPoint) -> tuple[int, bool, int]:
    """The order in which points were told, also of points of one millisecond."""
    return nanoseconds(point.time), point.is_final, point.number


class MlflowLog:
    """A context manager around the run and a sink of its snapshots.

    `failure` says what was not logged, if anything. Raises HekatError without the extra, InputError where the tracking
    server at `uri` takes no run.
    """

    def __init__(self, uri: str, state: LiveState) -> None:
        os.environ.update(_FORCED)
        for name, value in _DEFAULTS.items():
            os.environ.setdefault(name, value)
        try:
            from mlflow import MlflowClient
        except ImportError as error:
            raise HekatError(
                "--mlflow needs MLflow's client",
                expected="mlflow-skinny or mlflow 3",
                got="no usable mlflow in this Python",
                cure="pip install 'hekat[mlflow]'",
            ) from error
        self.failure = ""
        self._logged: tuple[int, bool, int] = (0, False, 0)
        self._is_ended = False
        self._queue: queue.Queue[tuple[str, Any]] = queue.Queue(_MOST_WAITING)
        try:
            # The client's functions for scripts would add the user's name, the script's path and its commit.
            self._client = MlflowClient(tracking_uri=uri)
            self._run_id = self._begin(f"hekat/{state.run.job}", settings_of(state))
        except Exception as error:
            raise InputError(
                "the MLflow tracking server takes no run",
                expected="--mlflow with the URI of a server that answers",
                got=type(error).__name__,
                cure="check the URI and the server; MLFLOW_TRACKING_USERNAME and _PASSWORD or _TOKEN for its access",
            ) from error
        self._thread = threading.Thread(target=self._work, name="hekat-mlflow", daemon=True)

    def take(self, state: LiveState, facts: Sequence[Fact]) -> None:
        for fact in facts:
            if isinstance(fact, EventWritten) and fact.event.get("event") == "started":
                self._put("tag", ("hekat.run_id", state.run.run_id))
        new = [one for one in state.rounds if _order_of(one) > self._logged]
        for point in new:
            self._logged = _order_of(point)
            self._put("round", (point.time, steps_done(state, point), aggregates_of(state, point)))
        if state.is_over:
            self._is_ended = True
            self._put("end", _ENDS[state.status])

    def __enter__(self) -> MlflowLog:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if not self._is_ended:
            # What is refused before the run begins is told to no sink.
            self._put("end", "FAILED")
        self._put("leave", None)
        self._thread.join(_END_WITHIN_S)
        if self._thread.is_alive():
            self.failure = self.failure or "the server did not answer in time"

    def _begin(self, name: str, settings: dict[str, str]) -> str:
        found = self._client.get_experiment_by_name(name)
        experiment = self._client.create_experiment(name) if found is None else found.experiment_id
        run: str = self._client.create_run(experiment, tags={}).info.run_id
        for setting, value in settings.items():
            self._client.log_param(run, setting, value)
        return run

    def _put(self, what: str, content: Any) -> None:
        try:
            self._queue.put_nowait((what, content))
        except queue.Full:
            self.failure = self.failure or "the server was too slow"

    def _work(self) -> None:
        while True:
            what, content = self._queue.get()
            if what == "leave":
                return
            try:
                self._log(what, content)
            except Exception as error:  # told at the end; the run goes on
                self.failure = self.failure or type(error).__name__

    def _log(self, what: str, content: Any) -> None:
        if what == "tag":
            self._client.set_tag(self._run_id, *content)
        elif what == "end":
            self._client.set_terminated(self._run_id, content)
        else:
            told_at, step, aggregates = content
            at_ms = nanoseconds(told_at) // 1_000_000 or int(1000 * time.time())
            for name, value in aggregates.items():
                self._client.log_metric(self._run_id, name, value, timestamp=at_ms, step=step)
