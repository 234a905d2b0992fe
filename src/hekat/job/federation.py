"""All roles of one horizontal run on this machine: threads, sealed channels, ledgers, one outcome."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hekat.channel import Channel, PartyKey, PartyPublicKey, SealedChannel, run_parties
from hekat.data import Table
from hekat.errors import ChannelError, PartyLostError, PartyStoppedError
from hekat.job.job_file import Job
from hekat.job.traffic import SumTraffic, Traffic, sum_traffic_of, traffic_of
from hekat.ledger import Ledger, RecordedChannel
from hekat.protocol.horizontal.aggregator import AggregatorRun, run_aggregator
from hekat.protocol.horizontal.key_authority import AuthorityRun, run_authority
from hekat.protocol.horizontal.packing import Packing
from hekat.protocol.horizontal.party import PartyRun, run_party
from hekat.protocol.horizontal.patience import patience_of
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.stopwatch import Stopwatch
from hekat.protocol.horizontal.training import LocalRun, RoundRecord, TrainingState
from hekat.protocol.horizontal.upload_state import UploadState
from hekat.protocol.horizontal.witness import Witness
from hekat.scheme.paillier import KeyPair, generate_keys

PROTOCOL = "horizontal"


@dataclass(frozen=True)
class Listener:
    """Told of progress while a run goes on: of keys and losses in the caller's thread, of rounds in a party's."""

    on_round: Callable[[RoundRecord, TrainingState], None] = lambda record, state: None
    on_key: Callable[[int, int], None] | None = None
    on_lost: Callable[[PartyLostError], None] = lambda error: None
    save: Callable[[TrainingState], None] = lambda state: None


@dataclass
class Federation:
    """One run's parties and what they leave behind."""

    job: Job
    settings: HorizontalSettings
    tables: Mapping[str, Table]
    party_keys: Mapping[str, PartyKey]
    run_id: str
    ledger_folder: Path | None
    listener: Listener
    key_pair: KeyPair | None = None
    witness: Witness | None = None
    resume_from: TrainingState | None = None
    upload_states: Mapping[str, UploadState] = field(default_factory=dict)
    """What each role keeps of upload numbers and releases, for protection `lattice`."""
    rehearsed_losses: Mapping[str, int] = field(default_factory=dict)
    """Parties that stop in the middle of that round, to see the others go on."""
    stopwatches: dict[str, Stopwatch] = field(default_factory=dict)
    traffic: dict[str, Traffic] = field(default_factory=dict)
    packing: Packing | None = None
    sum_traffic: SumTraffic | None = None
    """What the last round's sum took at the first of the parties that are left."""
    lost: list[PartyLostError] = field(default_factory=list)
    """Parties that were lost on the way, in that order; the others went on."""
    seconds: float = 0.0
    _saved: str = ""
    _saved_rounds: int = 0
    _reported_rounds: int = 0
    _reporting: threading.Lock = field(default_factory=threading.Lock)

    def run(self) -> TrainingState:
        """Train to the end; raises PartyStoppedError naming the party and step where a role failed."""
        turn = threading.Lock()
        for name in self.settings.everyone:
            self.stopwatches[name] = Stopwatch(turn)
        start = time.perf_counter()
        if self.settings.protection == "paillier" and self.key_pair is None:
            # Here and not in the leader's thread: this can take a minute, and Ctrl-C reaches only this one.
            with self.stopwatches[self.settings.leader].measure("keys"):
                self.key_pair = generate_keys(self.settings.key_bits, progress=self.listener.on_key)
        roles = {name: self._role(name) for name in self.settings.everyone}
        try:
            results = run_parties(
                roles,
                timeout_s=self.job.timeout_s,
                may_be_lost=self.settings.parties if self.settings.bears_losses else (),
                on_lost=self._note_loss,
            )
        except PartyStoppedError as error:
            raise self._with_what_was_saved(error) from error.__cause__
        self.seconds = time.perf_counter() - start
        # Every party ends with the same state, so any that is left has it.
        state = next(state for party in self.settings.parties if (state := results.get(party)) is not None)
        return state

    def _note_loss(self, error: PartyLostError) -> None:
        self.lost.append(error)
        self.listener.on_lost(error)

    def _with_what_was_saved(self, error: PartyStoppedError) -> PartyStoppedError:
        """The same for the whole machine: one party saves for all, so another's stop finds its checkpoint."""
        if error.saved or not self._saved:
            return error
        return PartyStoppedError(error.what, party=error.party, step=error.step, saved=self._saved, cure=error.cure)

    def _role(self, name: str) -> Callable[[Channel], TrainingState | None]:
        def play(channel: Channel) -> TrainingState | None:
            with self._seal(channel) as sealed:
                session = sealed.open_session()
                path = None if self.ledger_folder is None else self.ledger_folder / f"{name}.jsonl"
                try:
                    with Ledger(
                        path, name, self.party_keys[name], session, run_id=self.run_id, protocol=PROTOCOL
                    ) as ledger:
                        result = self._play(name, RecordedChannel(sealed, ledger))
                finally:
                    self.traffic[name] = traffic_of(sealed)
                if result is not None and (self.sum_traffic is None or name == self.settings.leader):
                    self.sum_traffic = sum_traffic_of(sealed, self.settings.aggregator, result.rounds_done)
                return result

        return play

    def _play(self, name: str, channel: RecordedChannel) -> TrainingState | None:
        settings = self.settings
        done = self.resume_from.rounds_done if self.resume_from else 0
        if name == settings.aggregator:
            run_aggregator(channel, settings, AggregatorRun(self.stopwatches[name], done, self.job.timeout_s))
            return None
        state = self.upload_states.get(name)
        if name == settings.authority:
            run_authority(channel, settings, AuthorityRun(self.stopwatches[name], state, self._patience_s, done))
            return None
        return run_party(channel, self.tables[name], settings, self._party_run(name, channel, state))

    @property
    def _patience_s(self) -> float:
        """How long a role waits for the aggregator, which may be waiting for each of the parties."""
        return patience_of(self.job.timeout_s, len(self.settings.parties))

    def _party_run(self, name: str, channel: RecordedChannel, state: UploadState | None) -> PartyRun:
        leads = name == self.settings.leader

        def save(state: TrainingState) -> None:
            with self._reporting:
                if state.rounds_done > self._saved_rounds:
                    self.listener.save(state)
                    self._saved_rounds = state.rounds_done
                    self._saved = f"checkpoint of round {state.rounds_done}"
            channel.note_saved(self._saved)

        def on_round(record: RoundRecord, state: TrainingState) -> None:
            with self._reporting:
                if record.round > self._reported_rounds:
                    self._reported_rounds = record.round
                    self.listener.on_round(record, state)

        def keep_packing(packing: Packing) -> None:
            self.packing = packing

        def before(step: str, part: str) -> None:
            if step == f"round-{self.rehearsed_losses.get(name)}" and part == "sign":
                raise ChannelError(f"left in the middle of {step}, as was asked for")

        resumed = copy_state(self.resume_from) if self.resume_from else None
        local = LocalRun(stopwatch=self.stopwatches[name], on_round=on_round, save=save, resume_from=resumed)
        return PartyRun(
            local=local,
            key_pair=self.key_pair if leads else None,
            witness=self.witness,
            on_packing=keep_packing,
            upload_state=state,
            patience_s=self._patience_s,
            before=before,
        )

    def _seal(self, channel: Channel) -> SealedChannel:
        return SealedChannel(
            channel,
            self.party_keys[channel.party],
            self._pinned(channel.party),
            run_id=self.run_id,
            protocol=PROTOCOL,
            job_digest=self.job.digest,
            measure=self.stopwatches[channel.party].measure,
        )

    def _pinned(self, party: str) -> dict[str, PartyPublicKey]:
        return {name: key.public for name, key in self.party_keys.items() if name != party}


def copy_state(state: TrainingState) -> TrainingState:
    """A state of one's own: every party changes its parameters by itself."""
    return TrainingState(
        parameters={name: values.copy() for name, values in state.parameters.items()},
        optimiser_state={name: values.copy() for name, values in state.optimiser_state.items()},
        standardiser=state.standardiser,
        rounds_done=state.rounds_done,
        bounds=dict(state.bounds),
        losses=list(state.losses),
        finished=state.finished,
    )
