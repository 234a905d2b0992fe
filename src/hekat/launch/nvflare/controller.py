"""The server's component of an NVIDIA FLARE job: a horizontal job's aggregator, or only the way between sites."""

from __future__ import annotations

from threading import Event
from typing import Any

from nvflare.apis.controller_spec import ClientTask, Task
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable
from nvflare.apis.signal import Signal

from hekat.launch.nvflare.executor import REFUSED, TASK
from hekat.launch.nvflare.order import SERVER, RunOrder, checked_arguments
from hekat.launch.nvflare.site_process import SiteProcess, what_to_log

_LOOK_FOR_END_S = 0.2


class HekatController(Controller):  # type: ignore[misc]
    """Gives every client site its one task, plays the server's role if there is one, and waits for all."""

    def __init__(self, order: dict[str, object]) -> None:
        super().__init__()
        self.order = checked_arguments(order)
        self._process: SiteProcess | None = None

    def start_controller(self, fl_ctx: FLContext) -> None:
        if self._checked_order().role_at(SERVER) is not None:
            self._process = SiteProcess(fl_ctx.get_engine())

    def stop_controller(self, fl_ctx: FLContext) -> None:
        """Nothing is open beyond `control_flow`."""

    def process_result_of_unknown_task(self, *arguments: Any, **named: Any) -> None:
        """No result is read: roles speak to each other, and the server learns only that a task ended."""

    def control_flow(self, abort_signal: Signal, fl_ctx: FLContext) -> None:
        """The whole run."""
        sites = self._checked_order().client_sites
        task = Task(name=TASK, data=Shareable(), timeout=0, result_received_cb=self._note_result)
        if self._process is None:
            self.broadcast_and_wait(task, fl_ctx, targets=sites, min_responses=len(sites), abort_signal=abort_signal)
            return
        self.broadcast(task, fl_ctx, targets=sites, min_responses=len(sites))
        played = self._process.play(self.order, SERVER, abort_signal)
        self.log_info(fl_ctx, f"hekat: {what_to_log(played.kind)}")
        if played.has_refused:
            self.system_panic("the server's site refused the job", fl_ctx)
            return
        self._wait_for(task, abort_signal)

    def _note_result(self, client_task: ClientTask, fl_ctx: FLContext) -> None:
        """End the job where a site refused it before it joined: the others would wait for it in vain."""
        if client_task.result.get_return_code() == REFUSED:
            self.system_panic(f"site {client_task.client.name} refused the job", fl_ctx)

    def _wait_for(self, task: Task, abort_signal: Signal) -> None:
        """Until every client's task has ended, or the engine ends the job; the engine sees to lost clients."""
        waiting = Event()
        while task.completion_status is None and not abort_signal.triggered:
            waiting.wait(_LOOK_FOR_END_S)

    def _checked_order(self) -> RunOrder:
        return RunOrder.from_arguments(self.order)
