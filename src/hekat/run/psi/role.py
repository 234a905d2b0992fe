"""One party of a set intersection on its machine: its inputs, its play, and its outcome."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from hekat.channel import Channel
from hekat.data import Ids
from hekat.job.psi.job_file import IntersectionJob
from hekat.ledger import RecordedChannel
from hekat.protocol.psi.ids import Ids as ComparedIds
from hekat.protocol.psi.roles import Intersection, IntersectionRun, run_intersection
from hekat.protocol.role_session import RoleSession
from hekat.summary.psi.role_result import IntersectionResult


@dataclass(frozen=True)
class IntersectionContext:
    """Everything one party is given: `ids` as its table has them, `compared` as the protocol takes them.

    `on_progress(work, done, total)` is called from any thread.
    """

    job: IntersectionJob
    role: str
    session: RoleSession
    ids: Ids = field(repr=False)
    compared: ComparedIds = field(repr=False)
    on_progress: Callable[[str, int, int], None] = lambda work, done, total: None


class IntersectionRole:
    """One party, played once over a channel; `result` holds what it left, however it ended."""

    def __init__(self, context: IntersectionContext) -> None:
        self._context = context
        self._found: Intersection | None = None
        self._seconds = 0.0

    def play(self, channel: Channel) -> Intersection:
        """What the party learned. Raises what the role raises."""
        start = time.perf_counter()
        try:
            self._found = self._context.session.play(channel, self._run)
        finally:
            self._seconds = time.perf_counter() - start
        return self._found

    @property
    def result(self) -> IntersectionResult:
        """What the party has left so far; read it once `play` has ended."""
        context, session, found = self._context, self._context.session, self._found
        return IntersectionResult(
            role=context.role,
            seconds=self._seconds,
            seconds_by_step=dict(session.stopwatch.seconds),
            sent_bytes=session.sent_bytes,
            received_bytes=session.received_bytes,
            ids=len(context.ids),
            ids_note=context.ids.describe(),
            learned="nothing" if found is None or found.count is None else "count" if found.rows is None else "rows",
            common=None if found is None else found.count,
        )

    def _run(self, channel: RecordedChannel) -> Intersection:
        context = self._context
        run = IntersectionRun(
            context.session.stopwatch,
            lambda work, done, total: context.on_progress(f"{context.role}: {work}", done, total),
        )
        return run_intersection(channel, context.compared, context.job.settings, run)
