"""All roles of one loop, each on any channel: `federate` plays them in threads, others may play them in processes."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from hekat.channel import Channel
from hekat.ledger import RecordedChannel
from hekat.own_loop.aggregator import run_loop_aggregator
from hekat.own_loop.costs import RoundRecord
from hekat.own_loop.party import Party, Surroundings
from hekat.own_loop.private.loop_budgets import LoopBudgets
from hekat.own_loop.turns import Turns
from hekat.protocol.role_session import RoleSession
from hekat.protocol.secure_sum.masked.key_authority import AuthorityRun, run_authority
from hekat.protocol.secure_sum.masked.messages import RunSecretsMessage
from hekat.protocol.secure_sum.masked.upload_state import UploadState
from hekat.protocol.secure_sum.partners import pairs_begin_later
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.secure_sum.start_up import join_sums, needs_everybody, tell_early
from hekat.protocol.secure_sum.sum_plan import SumPlan
from hekat.protocol.secure_sum.sum_run import AggregatorSumRun, PartySumRun
from hekat.scheme.paillier import KeyPair

T = TypeVar("T")

FIRST_ROUND = SumPlan(("round-1",), ("round-1",))
"""A loop does not know how many rounds it has: this is what is said of its sums at the beginning."""


@dataclass
class LoopRoles:
    """The roles of one loop and what they leave behind; a role waits for the others as long as their code takes."""

    settings: SumSettings
    sessions: Mapping[str, RoleSession]
    turns: Turns
    upload_states: Mapping[str, UploadState] = field(default_factory=dict)
    key_pair: KeyPair | None = None
    tell: Callable[[str], None] = lambda note: None
    plan: SumPlan = FIRST_ROUND
    """The sums that are known ahead: where records outlive the run, earlier runs bind the later ones."""
    wait_s: float = math.inf
    """How long a role waits for the aggregator, and the aggregator for a party's upload."""
    accept_members: Callable[[tuple[str, ...]], None] = lambda members: None
    names_are_keys: bool = False
    on_round: Callable[[RoundRecord], None] = lambda record: None
    """Told of each round once its mean stands, in the thread of the party."""
    budgets: LoopBudgets = field(default_factory=LoopBudgets)
    records: dict[int, RoundRecord] = field(default_factory=dict)
    errors: dict[str, BaseException] = field(default_factory=dict)
    """What each party's role raised, the first first."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def play_party(self, channel: Channel, code: Callable[[Party], T]) -> T:
        """What the party's code returns."""
        name = channel.party
        # Taken out once: whoever kept it held the first key of releases, from which all later ones follow.
        told: list[RunSecretsMessage | None] = []
        try:
            return self.sessions[name].play(
                channel,
                lambda recorded: self._join(recorded, told.pop()).play(code),
                lambda recorded: told.append(tell_early(recorded, self.settings)),
                pairs_later=pairs_begin_later(self.settings),
            )
        except BaseException as error:
            with self._lock:
                self.errors[name] = error
            if not self.settings.bears_dropouts:
                self.turns.stop()
            raise
        finally:
            self.turns.leave(name)

    def play_server(self, channel: Channel) -> None:
        """Play the aggregator's role or the key authority's, as the channel's name says."""
        try:
            later = pairs_begin_later(self.settings)
            self.sessions[channel.party].play(channel, self._serve, counts_rounds=False, pairs_later=later)
        except BaseException:
            self.turns.stop()
            raise

    def _serve(self, channel: RecordedChannel) -> None:
        stopwatch = self.sessions[channel.party].stopwatch
        if channel.party == self.settings.aggregator:
            run_loop_aggregator(channel, self.settings, AggregatorSumRun(stopwatch, self.plan, self.wait_s))
        else:
            state = self.upload_states.get(channel.party)
            run_authority(channel, self.settings, AuthorityRun(stopwatch, self.plan, state, self.wait_s))

    def _join(self, channel: RecordedChannel, told: RunSecretsMessage | None) -> Party:
        stopwatch = self.sessions[channel.party].stopwatch
        run = PartySumRun(
            stopwatch,
            self.plan,
            key_pair=self.key_pair if channel.party == self.settings.leader else None,
            upload_state=self.upload_states.get(channel.party),
            aggregator_timeout_s=self.wait_s,
            accept_members=self.accept_members,
            names_are_keys=self.names_are_keys,
            told_secrets=told,
        )
        with needs_everybody():
            aggregation, digest_key = join_sums(channel, self.settings, run)
        budget = self.budgets.of(channel.party)
        surroundings = Surroundings(self.turns, stopwatch, self._on_round, self.tell, budget)
        return Party(channel, self.settings, aggregation, digest_key, surroundings)

    def _on_round(self, record: RoundRecord) -> None:
        with self._lock:
            self.records.setdefault(record.round, record)
        self.on_round(record)
