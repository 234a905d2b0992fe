"""The components of a protected app's job: a party at every client, the aggregator at the server, and two filters.

A client's app has executors that take any task, and filters for named ones. So the party strips what leaves by another
task, and what a later filter put in the place of its own answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from nvflare.apis.dxo import DXO, DataKind, MetaKey, from_shareable
from nvflare.apis.event_type import EventType
from nvflare.apis.filter import Filter
from nvflare.apis.fl_component import FLComponent
from nvflare.apis.fl_constant import FLContextKey, ProcessType, ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.app_common.app_constant import AppConstants

from hekat.errors import InputError, JobError
from hekat.launch.nvflare.order import SERVER, checked_arguments
from hekat.launch.nvflare.protected.app_party import Answer, Update
from hekat.launch.nvflare.protected.app_process import AppProcess
from hekat.launch.nvflare.protected.terms import terms_of
from hekat.launch.nvflare.site_process import site_of, what_to_log

PARTY_ID = "hekat_party"
_KINDS = (DataKind.WEIGHTS, DataKind.WEIGHT_DIFF)


class HekatAggregator(FLComponent):  # type: ignore[misc]
    """Plays the aggregator beside the server's workflow, and ends the job where that role fails."""

    def __init__(self, order: dict[str, object]) -> None:
        super().__init__()
        self.order = checked_arguments(order)
        self.model_shapes: dict[str, tuple[int, ...]] = {}
        self.current_round: int | None = None
        self._answer = b""
        self._process: AppProcess | None = None

    def note_round(self, number: object) -> None:
        """The server's workflow sends a task of round `number`."""
        if isinstance(number, int) and number != self.current_round:
            self.current_round, self._answer = number, b""

    def is_answer_of_all(self, digest: bytes) -> bool:
        """Whether all that sites handed in for the current round have this digest; an empty one is of no answer."""
        self._answer = self._answer or digest
        return bool(digest) and digest == self._answer

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        if event_type == EventType.START_RUN and _is_at(ProcessType.CLIENT_JOB, fl_ctx):
            self.system_panic("hekat: the job has the server's aggregator at a client", fl_ctx)
        elif event_type == EventType.START_RUN:
            engine = fl_ctx.get_engine()

            def fail(kind: str) -> None:
                with engine.new_context() as context:
                    self.system_panic(f"hekat: {what_to_log(kind)}", context)

            self._process = AppProcess(engine, self.order, SERVER, fl_ctx.get_run_abort_signal(), fail)
        elif event_type == EventType.BEFORE_PROCESS_SUBMISSION and self._process is not None:
            result = fl_ctx.get_prop(FLContextKey.TASK_RESULT)
            if not self._process.has_met and result.get_return_code() not in (None, ReturnCode.OK):
                # The others would wait for it in vain, each in its first task.
                self.system_panic("hekat: a site refused the job before the run began", fl_ctx)
        elif event_type == EventType.ABOUT_TO_END_RUN and self._process is not None:
            _end_where_it_never_began(self._process)
        elif event_type == EventType.END_RUN and self._process is not None:
            self._process.close(may_be_early=self._process.has_met)


class HekatParty(FLComponent):  # type: ignore[misc]
    """Plays a party beside the client's app. `order` is what `RunOrder.to_arguments` gives; `task` the app's own."""

    def __init__(self, order: dict[str, object], task: str) -> None:
        super().__init__()
        if not isinstance(task, str):
            raise JobError("the job protects no task", expected="the task's name", got=type(task).__name__)
        self.order, self.task = checked_arguments(order), task
        self._process: AppProcess | None = None
        self._given: Shareable | None = None

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        if event_type == EventType.START_RUN and _is_at(ProcessType.SERVER_JOB, fl_ctx):
            self.system_panic("hekat: the job has a client's party at the server", fl_ctx)
        elif event_type == EventType.START_RUN:
            abort = fl_ctx.get_run_abort_signal()
            self._process = AppProcess(fl_ctx.get_engine(), self.order, site_of(fl_ctx), abort)
        elif event_type == EventType.BEFORE_TASK_RESULT_FILTER:
            if fl_ctx.get_prop(FLContextKey.TASK_NAME) != self.task:
                self._strip(fl_ctx, "a task that the job does not protect")
        elif event_type == EventType.AFTER_TASK_RESULT_FILTER:
            if fl_ctx.get_prop(FLContextKey.TASK_RESULT) is not self._given:
                self._strip(fl_ctx, "a result that another filter changed")
            self._given = None
        elif event_type == EventType.BEFORE_SEND_TASK_RESULT:
            if self._process is not None and self._process.app is not None:
                self._process.app.note_end_of_task()
        elif event_type == EventType.ABOUT_TO_END_RUN and self._process is not None:
            _end_where_it_never_began(self._process)
        elif event_type == EventType.END_RUN and self._process is not None:
            self._process.close(may_be_early=self._process.app is not None and self._process.app.rounds_handed_in > 0)

    def install(self, shareable: Shareable, fl_ctx: FLContext) -> Shareable:
        """The task with the model to train on in the place of the server's."""
        dxo = _dxo_of(shareable, (DataKind.WEIGHTS,), "a task to train")
        app = self._app()
        dxo.data = app.install(_round_of(shareable), dxo.data, terms_of(shareable, dxo))
        changed: Shareable = dxo.update_shareable(shareable)
        return changed

    def sum_up(self, shareable: Shareable, fl_ctx: FLContext) -> Shareable:
        """What leaves in the result's place: the answer, and nothing else of the result."""
        if shareable.get_return_code() not in (None, ReturnCode.OK):
            return self._keep(make_reply(ReturnCode.EXECUTION_EXCEPTION))
        dxo = _dxo_of(shareable, _KINDS, "a result")
        app = self._app()
        answer = app.sum_up(_update_of(dxo))
        reply = _shareable_of(dxo.data_kind, answer)
        reply.set_header(AppConstants.CURRENT_ROUND, app.rounds_handed_in - 1)
        return self._keep(reply)

    def note_refusal(self, error: BaseException, fl_ctx: FLContext) -> None:
        """A line for the engine's log, which the server may read: never a word of the error."""
        self.log_info(fl_ctx, f"hekat: {what_to_log(type(error).__name__)}")
        if self._process is not None:
            self._process.handover.abandon(error)

    def _app(self) -> Any:
        assert self._process is not None  # tasks come after START_RUN
        if self._process.app is None:
            self._process.handover.wait_for_end()  # raises why there is none
        return self._process.app

    def _keep(self, reply: Shareable) -> Shareable:
        self._given = reply
        return reply

    def _strip(self, fl_ctx: FLContext, why: str) -> None:
        result = fl_ctx.get_prop(FLContextKey.TASK_RESULT)
        if isinstance(result, Shareable):
            result.clear()
            result.update(make_reply(ReturnCode.TASK_UNSUPPORTED))
        self.log_warning(fl_ctx, f"hekat: nothing is sent of {why}")


class _PartyFilter(Filter):  # type: ignore[misc]
    """Hands the task's data to the party of the same process. A refusal says no more than its kind."""

    def process(self, shareable: Shareable, fl_ctx: FLContext) -> Shareable:
        party = fl_ctx.get_engine().get_component(PARTY_ID)
        if not isinstance(party, HekatParty):
            raise RuntimeError(f"hekat: the job has no HekatParty called {PARTY_ID}")
        try:
            return self._pass(party, shareable, fl_ctx)
        except BaseException as error:
            party.note_refusal(error, fl_ctx)
            kind = type(error).__name__
        # Outside of the handler: the engine logs, and may stream, an exception with all that led to it.
        raise RuntimeError(f"hekat: {what_to_log(kind)}")

    def _pass(self, party: HekatParty, shareable: Shareable, fl_ctx: FLContext) -> Shareable:
        raise NotImplementedError


class InstallModel(_PartyFilter):
    """The client's input filter of the app's task."""

    def _pass(self, party: HekatParty, shareable: Shareable, fl_ctx: FLContext) -> Shareable:
        return party.install(shareable, fl_ctx)


class SumUpdate(_PartyFilter):
    """The client's output filter of the app's task."""

    def _pass(self, party: HekatParty, shareable: Shareable, fl_ctx: FLContext) -> Shareable:
        return party.sum_up(shareable, fl_ctx)


def _end_where_it_never_began(process: AppProcess) -> None:
    """From ABOUT_TO_END_RUN to END_RUN the engine waits for all that streams, and may kill the process before it."""
    if not process.has_met:
        process.abort()


def _is_at(process: str, fl_ctx: FLContext) -> bool:
    return bool(fl_ctx.get_process_type() == process)


def _round_of(shareable: Shareable) -> int | None:
    number = shareable.get_header(AppConstants.CURRENT_ROUND)
    return number if isinstance(number, int) else None


def _dxo_of(shareable: Shareable, kinds: tuple[str, ...], what: str) -> DXO:
    try:
        dxo: DXO = from_shareable(shareable)
        kind, processed = dxo.data_kind, dxo.get_meta_prop(MetaKey.PROCESSED_ALGORITHM)
    except ValueError:
        kind, processed = "no model", None
    if kind not in kinds or processed is not None or not isinstance(dxo.data, dict) or not dxo.data:
        raise InputError(
            f"{what} that Hekat cannot protect",
            expected=f"a model by tensors, as {' or '.join(kinds)}",
            got=f"{kind}, processed" if processed is not None else str(kind)[:40],
            cure="have the app send its model, FLModel(params=...), and no filter encode it before",
        )
    return dxo


def _update_of(dxo: DXO) -> Update:
    steps = dxo.get_meta_prop(MetaKey.NUM_STEPS_CURRENT_ROUND, 1)
    is_number = isinstance(steps, (int, float)) and not isinstance(steps, bool)
    if not is_number or steps != int(steps):
        raise InputError(
            "the app reports steps that are no weight",
            expected=f"a whole number as meta[{MetaKey.NUM_STEPS_CURRENT_ROUND!r}]",
            got=type(steps).__name__,
            cure="report the rows or steps of the round",
        )
    metrics = dxo.get_meta_prop(MetaKey.INITIAL_METRICS)
    numbers = metrics.items() if isinstance(metrics, dict) else ()
    told = {str(name): float(value) for name, value in numbers if _is_metric(value)}
    return Update(dxo.data, dxo.data_kind == DataKind.WEIGHT_DIFF, int(steps), told)


def _is_metric(value: object) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _shareable_of(kind: str, answer: Answer) -> Shareable:
    meta: dict[str, object] = {MetaKey.NUM_STEPS_CURRENT_ROUND: 1}
    if answer.metrics:
        meta[MetaKey.INITIAL_METRICS] = answer.metrics
    reply: Shareable = DXO(kind, data=answer.values, meta=meta).to_shareable()
    return reply
