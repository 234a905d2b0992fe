"""All roles of a horizontal run in this process, as tests of the protocol play them: one object that they all tell."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from hekat.channel import Channel, PartyKey, PartyPublicKey
from hekat.data import Table
from hekat.errors import ChannelError, PartyLostError, PartyStoppedError
from hekat.ledger import RecordedChannel
from hekat.protocol.horizontal.aggregator import AggregatorRun, run_aggregator
from hekat.protocol.horizontal.party import PartyRun, run_party
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.stop_origin import trace_to_origin
from hekat.protocol.horizontal.sums_ahead import plan_sums
from hekat.protocol.horizontal.training.local_run import LocalRun
from hekat.protocol.horizontal.training.own_state import OwnState
from hekat.protocol.horizontal.training.training_state import RoundRecord, TrainingState
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.role_session import RoleSession
from hekat.protocol.secure_sum.cost.packing import Packing
from hekat.protocol.secure_sum.exactness_check import ExactnessCheck
from hekat.protocol.secure_sum.masked.key_authority import AuthorityRun, run_authority
from hekat.protocol.secure_sum.masked.upload_state import UploadState
from hekat.protocol.secure_sum.timeouts import aggregator_timeout_of
from hekat.protocol.stopwatch import Stopwatch
from hekat.scheme.paillier import KeyPair, generate_keys


@cache
def party_key_of(name: str) -> PartyKey:
    """A key for every role of that name."""
    return PartyKey.generate()


@dataclass
class Rehearsal:
    """One run's parties and what they leave behind; a test replaces what it wants of them."""

    settings: HorizontalSettings
    tables: Mapping[str, Table]
    job_digest: bytes = bytes(32)
    timeout_s: float = 30.0
    job_keys: Mapping[str, PartyPublicKey] = field(default_factory=dict)
    """The public keys that the job names; none where a session takes those of `party_keys`."""
    party_keys: Mapping[str, PartyKey] = field(default_factory=dict)
    """Where a test gives none, those of an earlier run with a role of that name."""
    ledger_folder: Path | None = None
    key_pair: KeyPair | None = None
    exactness_check: ExactnessCheck | None = None
    resume_from: TrainingState | None = None
    resume_own: Mapping[str, OwnState] = field(default_factory=dict)
    """What each party alone carries on in a resumed run; nothing where the job asks for no such states."""
    upload_states: Mapping[str, UploadState] = field(default_factory=dict)
    """What each role keeps of upload numbers and releases, for protection `lattice`."""
    rehearsed_dropouts: Mapping[str, int] = field(default_factory=dict)
    """Parties that stop in the middle of that round, to see the others go on."""
    accept_members: Callable[[tuple[str, ...]], None] = lambda members: None
    """Raises where this site forms no committee with the members that were drawn."""
    stand_ins: Mapping[str, Callable[[RecordedChannel], TrainingState | None]] = field(default_factory=dict)
    """What plays a role in place of the real one."""
    save_own: Callable[[str, OwnState], None] = lambda party, own: None
    on_saved: Callable[[], object] = lambda: None
    records: list[RoundRecord] = field(default_factory=list)
    saved: list[TrainingState] = field(default_factory=list)
    members: tuple[str, ...] | None = None
    """Those that were drawn in the run; None where all parties are members, or nobody is."""
    stopwatches: dict[str, Stopwatch] = field(default_factory=dict)
    packing: Packing | None = None
    lost: list[PartyLostError] = field(default_factory=list)
    """Parties that dropped out on the way, in that order; the others went on."""
    not_compared: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By party, those with which it could not compare its final model; nothing where all did with all."""
    _saved: str = ""
    _saved_sums: int = 0
    _reporting: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.party_keys = self.party_keys or {name: party_key_of(name) for name in self.settings.everyone}

    def run(self) -> TrainingState:
        """Train to the end; raises PartyStoppedError naming the party and step where a role failed."""
        sessions = make_sessions(
            {name: self.party_keys[name] for name in self.settings.everyone},
            run_id="rehearsal",
            protocol="horizontal",
            job_digest=self.job_digest,
            ledger_folder=self.ledger_folder,
            public_keys=self.job_keys,
        )
        self.stopwatches = {name: session.stopwatch for name, session in sessions.items()}
        if self.settings.protection == "paillier" and self.key_pair is None:
            # Here and not in the leader's thread: this can take a minute, and Ctrl-C reaches only this one.
            with self.stopwatches[self.settings.leader].measure("keys"):
                self.key_pair = generate_keys(
                    self.settings.key_bits,
                )
        roles = {name: self._role(name, sessions[name]) for name in self.settings.everyone}
        try:
            results = play_in_process(
                roles,
                timeout_s=self.timeout_s,
                may_drop_out=self.settings.parties if self.settings.bears_dropouts else (),
                on_dropout=self.lost.append,
            )
        except PartyStoppedError as error:
            stop = trace_to_origin(error, self.lost, self.settings.aggregator)
            raise self._with_what_was_saved(stop) from stop.__cause__
        # Every party ends with the same state, so any that is left has it.
        states = [results[party] for party in self.settings.parties if party in results]
        if not states or states[0] is None:
            # The aggregator was through, and no party got to the end.
            loss = self.lost[-1]
            raise PartyStoppedError(loss.what, party=loss.party, step=loss.step, saved=self._saved) from loss.__cause__
        return states[0]

    @property
    def keeps_older_committee(self) -> bool:
        """Whether the run goes on with the committee of a release that drew none."""
        return self.members is not None and not any(state.members.exists() for state in self.upload_states.values())

    def _with_what_was_saved(self, error: PartyStoppedError) -> PartyStoppedError:
        """The same for the whole machine: one party saves for all, so another's stop finds its checkpoint."""
        if error.saved or not self._saved:
            return error
        return PartyStoppedError(error.what, party=error.party, step=error.step, saved=self._saved, cure=error.cure)

    def _role(self, name: str, session: RoleSession) -> Callable[[Channel], TrainingState | None]:
        return lambda channel: session.play(channel, lambda recorded: self._play(name, recorded))

    def _play(self, name: str, channel: RecordedChannel) -> TrainingState | None:
        if name in self.stand_ins:
            return self.stand_ins[name](channel)
        settings = self.settings
        resumed = self.resume_from
        done = resumed.rounds_done if resumed else 0
        if name == settings.aggregator:
            run = AggregatorRun(
                self.stopwatches[name],
                done,
                self.timeout_s,
                rounds_finished=resumed is not None and resumed.finished,
                is_validated=resumed is not None and resumed.validation.final is not None,
                folds_done=0 if resumed is None else len(resumed.folds),
            )
            run_aggregator(channel, settings, run)
            return None
        state = self.upload_states.get(name)
        if name == settings.authority:
            plan = plan_sums(settings, done)
            authority = AuthorityRun(self.stopwatches[name], plan, state, self._aggregator_timeout_s)
            run_authority(channel, settings.sums, authority)
            return None
        return run_party(channel, self.tables[name], settings, self._party_run(name, channel, state))

    @property
    def _aggregator_timeout_s(self) -> float:
        """How long a role waits for the aggregator, which may be waiting for each of the parties."""
        return aggregator_timeout_of(self.timeout_s, len(self.settings.parties))

    def _party_run(self, name: str, channel: RecordedChannel, state: UploadState | None) -> PartyRun:
        leads = name == self.settings.leader

        def save(state: TrainingState) -> None:
            with self._reporting:
                if state.sums_done > self._saved_sums:
                    self.saved.append(state.copy())
                    self.on_saved()
                    self._saved_sums = state.sums_done
                    self._saved = f"checkpoint of round {state.rounds_done}"
            channel.note_saved(self._saved)

        def on_round(record: RoundRecord, state: TrainingState) -> None:
            with self._reporting:
                if record.round not in [told.round for told in self.records]:
                    self.records.append(record)

        def note_missing(missing: tuple[str, ...]) -> None:
            if missing:
                with self._reporting:
                    self.not_compared[name] = missing

        def keep_members(members: tuple[str, ...]) -> None:
            self.members = members

        def keep_packing(packing: Packing) -> None:
            self.packing = packing

        def before(step: str, part: str) -> None:
            if step == f"round-{self.rehearsed_dropouts.get(name)}" and part in ("sign", "sit-out"):
                raise ChannelError(f"left in the middle of {step}, as was asked for")

        resumed = self.resume_from.copy() if self.resume_from else None
        local = LocalRun(
            stopwatch=self.stopwatches[name],
            on_round=on_round,
            save=save,
            resume_from=resumed,
            save_own=lambda own: self.save_own(name, own),
            own=self.resume_own.get(name),
            on_compared=note_missing,
        )
        return PartyRun(
            local=local,
            key_pair=self.key_pair if leads else None,
            exactness_check=self.exactness_check,
            on_packing=keep_packing,
            upload_state=state,
            aggregator_timeout_s=self._aggregator_timeout_s,
            before=before,
            accept_members=self.accept_members,
            on_members=keep_members,
            names_are_keys=bool(self.job_keys),
        )
