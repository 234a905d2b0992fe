"""All roles of one horizontal run on this machine: threads, sealed channels, ledgers, one outcome."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hekat.channel import Channel, PartyKey, PartyPublicKey, SealedChannel, run_parties
from hekat.data import Table
from hekat.errors import PartyStoppedError
from hekat.job.job_file import Job
from hekat.ledger import Ledger, RecordedChannel
from hekat.protocol.horizontal.aggregator import AggregatorRun, run_aggregator
from hekat.protocol.horizontal.paillier_aggregation import Packing
from hekat.protocol.horizontal.party import PartyRun, run_party
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.stopwatch import Stopwatch
from hekat.protocol.horizontal.training import LocalRun, RoundRecord, TrainingState
from hekat.protocol.horizontal.witness import Witness
from hekat.scheme.paillier import KeyPair, generate_keys

PROTOCOL = "horizontal"


@dataclass(frozen=True)
class Traffic:
    """Sealed bytes of one role, hellos and signatures included."""

    sent_bytes: int
    received_bytes: int


@dataclass(frozen=True)
class Listener:
    """Told of progress while a run goes on; `on_key` is called by the caller's thread, the rest by the leader's."""

    on_round: Callable[[RoundRecord, TrainingState], None] = lambda record, state: None
    on_key: Callable[[int, int], None] | None = None
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
    stopwatches: dict[str, Stopwatch] = field(default_factory=dict)
    traffic: dict[str, Traffic] = field(default_factory=dict)
    packing: Packing | None = None
    update_traffic: tuple[int, int] = (0, 0)
    """Sealed bytes of the leader's last update, and of the sum that came back."""
    seconds: float = 0.0
    _saved: str = ""

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
            results = run_parties(roles, timeout_s=self.job.timeout_s)
        except PartyStoppedError as error:
            raise self._with_what_was_saved(error) from error.__cause__
        self.seconds = time.perf_counter() - start
        state = results[self.settings.leader]
        assert state is not None  # parties return their state, only the aggregator has none
        return state

    def _with_what_was_saved(self, error: PartyStoppedError) -> PartyStoppedError:
        """The same for the whole machine: the leader saves for all, so another party's stop finds its checkpoint."""
        if error.saved or not self._saved:
            return error
        return PartyStoppedError(error.what, party=error.party, step=error.step, saved=self._saved, cure=error.cure)

    def _role(self, name: str) -> Callable[[Channel], TrainingState | None]:
        def play(channel: Channel) -> TrainingState | None:
            with self._seal(channel) as sealed:
                session = sealed.open_session()
                path = None if self.ledger_folder is None else self.ledger_folder / f"{name}.jsonl"
                with Ledger(
                    path, name, self.party_keys[name], session, run_id=self.run_id, protocol=PROTOCOL
                ) as ledger:
                    result = self._play(name, RecordedChannel(sealed, ledger))
                self._keep_traffic(name, sealed, result)
                return result

        return play

    def _keep_traffic(self, name: str, sealed: SealedChannel, state: TrainingState | None) -> None:
        self.traffic[name] = Traffic(sealed.bytes_sent, sealed.bytes_received)
        if name == self.settings.leader and state is not None:
            aggregator, last = self.settings.aggregator, f"round-{state.rounds_done}"
            sent = sealed.traffic.get((aggregator, f"{last}/update"))
            received = sealed.traffic.get((aggregator, f"{last}/sum"))
            if sent is not None and received is not None:
                self.update_traffic = (sent.sent_bytes, received.received_bytes)

    def _play(self, name: str, channel: RecordedChannel) -> TrainingState | None:
        if name == self.settings.aggregator:
            done = self.resume_from.rounds_done if self.resume_from else 0
            run_aggregator(channel, self.settings, AggregatorRun(self.stopwatches[name], done))
            return None
        return run_party(channel, self.tables[name], self.settings, self._party_run(name, channel))

    def _party_run(self, name: str, channel: RecordedChannel) -> PartyRun:
        leads = name == self.settings.leader

        def save(state: TrainingState) -> None:
            if leads:
                self.listener.save(state)
                self._saved = f"checkpoint of round {state.rounds_done}"
                channel.note_saved(self._saved)

        def keep_packing(packing: Packing) -> None:
            if leads:
                self.packing = packing

        resumed = copy_state(self.resume_from) if self.resume_from else None
        local = LocalRun(
            stopwatch=self.stopwatches[name],
            on_round=self.listener.on_round if leads else lambda record, state: None,
            save=save,
            resume_from=resumed,
        )
        return PartyRun(
            local=local,
            key_pair=self.key_pair if leads else None,
            witness=self.witness,
            on_packing=keep_packing,
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
