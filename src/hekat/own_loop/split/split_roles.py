"""The roles of one own loop of a split network, played in this process: each party's code in its turns."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from hekat.channel import Channel
from hekat.channel.computing_turn import ComputingTurn
from hekat.errors import PartyStoppedError
from hekat.ledger import RecordedChannel
from hekat.own_loop.ended_run import root_cause
from hekat.own_loop.own_code import OwnCode
from hekat.own_loop.private.loop_budgets import LoopBudgets
from hekat.own_loop.run_notes import Notes
from hekat.own_loop.split.arguments import CALLED
from hekat.own_loop.split.guest import SplitGuest
from hekat.own_loop.split.host import SplitHost
from hekat.own_loop.split.kept_states import KeptStates, LoopState
from hekat.own_loop.split.party import EpochRecord, Keeping
from hekat.own_loop.turns import Turns
from hekat.progress_line import ProgressLine
from hekat.protocol.in_process import play_in_process
from hekat.protocol.role_session import RoleSession
from hekat.protocol.vertical_network.guest_side.loop import GuestLoop
from hekat.protocol.vertical_network.host_side.loop import HostLoop
from hekat.protocol.vertical_network.party_run import NetworkRun
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings


class SplitRoles:
    """Guest and hosts of one loop, and what they leave behind."""

    def __init__(
        self,
        settings: VerticalNetworkSettings,
        row_count: int,
        codes: Mapping[str, Callable[[Any], Any]],
        sessions: Mapping[str, RoleSession],
        notes: Notes,
        line: ProgressLine,
        kept: KeptStates | None = None,
        resumed: Mapping[str, LoopState] | None = None,
        budgets: LoopBudgets | None = None,
    ) -> None:
        """`kept` takes each party's state at the end of an epoch; `resumed` are the states that all go on with.
        `budgets` are waived."""
        self._budgets = budgets or LoopBudgets()
        self._kept, self._resumed = kept, resumed or {}
        self._settings, self._row_count, self._codes = settings, row_count, codes
        self._sessions, self._notes, self._line = sessions, notes, line
        self._turn = ComputingTurn()
        self._turns = Turns(settings.parties, self._turn, lambda party: line.say(f"{party} computes"))
        self._errors: dict[str, BaseException] = {}
        self._lock = threading.Lock()
        self.cut_shares: dict[int, dict[str, float]] = {}
        """Shares of numbers that were cut, by epoch and party."""

    def play(self) -> dict[str, Any]:
        """Results by party; raises the own exception of the party that ended the run."""
        ended: PartyStoppedError | None = None
        try:
            return play_in_process(
                {name: partial(self._play_role, name) for name in self._settings.everyone},
                timeout_s=math.inf,
                on_stop=self._turns.stop,
                turn=self._turn,
            )
        except PartyStoppedError as stopped:
            ended = stopped
        # Outside the handler: what a party raised keeps the causes that it has, and gets no other.
        raise root_cause(self._errors, ended)

    def _play_role(self, name: str, channel: Channel) -> Any:
        try:
            return self._sessions[name].play(channel, self._play_party)
        except BaseException as error:
            with self._lock:
                self._errors[name] = error
            self._turns.stop()
            raise
        finally:
            self._turns.leave(name)

    def _play_party(self, channel: RecordedChannel) -> Any:
        settings, name = self._settings, channel.party
        stopwatch = self._sessions[name].stopwatch
        if (budget := self._budgets.of(name)) is not None:
            self._notes.add(budget.allow_exact(channel.ledger))
        resumed = self._resumed.get(name)
        run = NetworkRun(stopwatch, warn=self._notes.add, resume_from=None if resumed is None else resumed.network)
        keeping = Keeping(resumed) if self._kept is None else Keeping(resumed, partial(self._kept.save, name))
        code, on_epoch = OwnCode(name, self._turns, stopwatch, CALLED), partial(self._note_epoch, name)
        party: SplitGuest | SplitHost
        if name == settings.guest:
            guest_loop = GuestLoop(channel, settings, run, self._row_count, 0)
            party = SplitGuest(channel, settings, guest_loop, code, on_epoch, keeping)
        else:
            host_loop = HostLoop(channel, settings, run, self._row_count, settings.network.width_of(name))
            party = SplitHost(channel, settings, host_loop, code, on_epoch, keeping)
        return party.play(self._codes[name])

    def _note_epoch(self, name: str, record: EpochRecord) -> None:
        with self._lock:
            self.cut_shares.setdefault(record.epoch, {})[name] = record.cut_share
        if name == self._settings.guest:
            self._line.reach(record.epoch, f"epoch {record.epoch} done")
