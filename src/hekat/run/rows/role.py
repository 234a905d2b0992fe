"""One role of a run on rows on its machine, whatever the parties train: its play, and what it left."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from hekat.channel import Channel
from hekat.data import Table
from hekat.errors import ChannelError
from hekat.job.policy.exact_sums import record_waiver
from hekat.job.rows.rows_job import RowsJob, RowsSettings
from hekat.ledger import RecordedChannel
from hekat.protocol.role_session import RoleSession
from hekat.protocol.secure_sum.masked.key_authority import AuthorityRun, run_authority
from hekat.protocol.secure_sum.masked.upload_state import UploadState
from hekat.protocol.secure_sum.partners import pairs_begin_later
from hekat.protocol.secure_sum.sum_plan import SumPlan
from hekat.protocol.secure_sum.timeouts import aggregator_timeout_of
from hekat.run.resume_point import ResumePoint
from hekat.scheme.paillier import KeyPair
from hekat.summary.horizontal.role_result import RowsResult
from hekat.summary.horizontal.table_facts import TableFacts
from hekat.summary.horizontal.traffic import traffic_of

S = TypeVar("S")


@dataclass(frozen=True, kw_only=True)
class RowsContext:
    """Everything that one role receives; about other roles it holds only names and public keys.

    `table` is a party's own (None: a role without rows). `key_pair` is the leader's; a leader without one makes it.
    `resume_point` says to a role without rows where the parties go on. `dropout_round` is the round or iteration in
    which the party leaves, to see the others go on.
    """

    job: RowsJob
    settings: RowsSettings
    role: str
    session: RoleSession
    table: Table | None = None
    upload_state: UploadState | None = None
    resume_point: ResumePoint | None = None
    key_pair: KeyPair | None = field(default=None, repr=False)
    accept_members: Callable[[tuple[str, ...]], None] = lambda members: None
    dropout_round: int | None = None
    other_sums_accepted: bool = False


class RowsRole(ABC, Generic[S]):
    """One role, played once over a channel; `result` holds what it left, however it ended. `S` is the state that all
    parties share at the end."""

    def __init__(self, context: RowsContext) -> None:
        self._shared, self._session = context, context.session
        self._state: S | None = None
        self._members: tuple[str, ...] | None = None
        self._not_compared: tuple[str, ...] = ()
        self._seconds = 0.0

    def play(self, channel: Channel) -> S | None:
        """The state that all parties share at the end; None at a role without rows. Raises what the role raises."""
        start = time.perf_counter()
        settings = self._shared.settings
        try:
            self._state = self._session.play(
                channel,
                self._run,
                counts_rounds=self._counts_rounds and self._shared.role in settings.parties,
                pairs_later=pairs_begin_later(settings.sums),
            )
        finally:
            self._seconds = time.perf_counter() - start
        return self._state

    @property
    @abstractmethod
    def result(self) -> RowsResult:
        """What the role has left so far; read it once `play` has ended."""

    @property
    @abstractmethod
    def _counts_rounds(self) -> bool:
        """Whether traffic is told by round at a party, as `RoleSession.play` has it."""

    @property
    @abstractmethod
    def _resume_point(self) -> ResumePoint:
        """Where this run goes on, by the state of all parties or by what they agreed on; 0 for a new run."""

    @abstractmethod
    def _plan_sums(self, done: int) -> SumPlan:
        """The groups of sums, and those ahead."""

    @abstractmethod
    def _serve(self, channel: RecordedChannel, point: ResumePoint) -> None:
        """The aggregator's role."""

    @abstractmethod
    def _train(self, channel: RecordedChannel, table: Table) -> S:
        """A party's role."""

    @abstractmethod
    def _describe_table(self, table: Table) -> TableFacts:
        """A party's table in figures."""

    @abstractmethod
    def _round_of(self, step: str) -> int | None:
        """The number of the round or iteration that a sum is of; None for others."""

    def _run(self, channel: RecordedChannel) -> S | None:
        context, settings = self._shared, self._shared.settings
        record_waiver(channel.ledger, context.table)
        point = self._resume_point
        if context.role == settings.aggregator:
            self._serve(channel, point)
            return None
        if context.role == settings.authority:
            authority = AuthorityRun(
                self._session.stopwatch, self._plan_sums(point.number), context.upload_state, self._aggregator_timeout_s
            )
            run_authority(channel, settings.sums, authority)
            return None
        assert context.table is not None  # a party has one
        return self._train(channel, context.table)

    @property
    def _aggregator_timeout_s(self) -> float:
        """How long a role waits for the aggregator, which may be waiting for each of the parties."""
        return aggregator_timeout_of(self._shared.job.timeout_s, len(self._shared.settings.parties))

    def _common_facts(self) -> dict[str, Any]:
        """What `RowsResult` takes."""
        context = self._shared
        state = context.upload_state
        return {
            "role": context.role,
            "seconds": self._seconds,
            "seconds_by_step": dict(self._session.stopwatch.seconds),
            "traffic": traffic_of(self._session, context.settings.aggregator),
            "table": None if context.table is None else self._describe_table(context.table),
            "members": self._members,
            "not_compared": self._not_compared,
            "to_leave_in": context.dropout_round,
            "keeps_older_committee": self._members is not None and state is not None and not state.members.exists(),
            "records_with_run": state is not None and state.with_run,
            "other_sums_accepted": context.other_sums_accepted,
        }

    def _note_missing(self, missing: tuple[str, ...]) -> None:
        self._not_compared = missing

    def _keep_members(self, members: tuple[str, ...]) -> None:
        self._members = members

    def _leave_where_asked(self, step: str, part: str) -> None:
        asked = self._shared.dropout_round
        if asked is not None and self._round_of(step) == asked and part in ("sign", "sit-out"):
            raise ChannelError(f"left in the middle of {step}, as was asked for")
