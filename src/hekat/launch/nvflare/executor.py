"""The client's component of an NVIDIA FLARE job: a party, an arbiter or a key authority."""

from __future__ import annotations

from nvflare.apis.event_type import EventType
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal

from hekat.launch.nvflare.order import checked_arguments
from hekat.launch.nvflare.site_process import SiteProcess, site_of, what_to_log

TASK = "hekat"
REFUSED = ReturnCode.BAD_TASK_DATA


class HekatExecutor(Executor):  # type: ignore[misc]
    """Plays its site's role in one task that is as long as the run. `order` is what `RunOrder.to_arguments` gives."""

    def __init__(self, order: dict[str, object]) -> None:
        super().__init__()
        self.order = checked_arguments(order)
        self._process: SiteProcess | None = None

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        if event_type == EventType.START_RUN:
            self._process = SiteProcess(fl_ctx.get_engine())

    def execute(self, task_name: str, shareable: Shareable, fl_ctx: FLContext, abort_signal: Signal) -> Shareable:
        """Play the role; the reply says only whether it was played to its end."""
        if task_name != TASK or self._process is None:
            return make_reply(ReturnCode.TASK_UNKNOWN)
        played = self._process.play(self.order, site_of(fl_ctx), abort_signal)
        self.log_info(fl_ctx, f"hekat: {what_to_log(played.kind)}")
        if played.has_refused:
            return make_reply(REFUSED)
        return make_reply(ReturnCode.OK if not played.kind else ReturnCode.EXECUTION_EXCEPTION)
