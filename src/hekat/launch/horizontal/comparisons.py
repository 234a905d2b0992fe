"""What a run is compared with where the job asks for it: each party alone, all in the clear, other bits per value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from hekat.channel import PartyKey
from hekat.job.horizontal.precision_sweep import with_bits
from hekat.launch.horizontal.phase import Phase
from hekat.launch.rows.sessions import make_leader_key
from hekat.protocol.horizontal.settings import HorizontalSettings, TrainingSettings
from hekat.protocol.horizontal.training.local_run import LocalRun
from hekat.protocol.horizontal.training.loop import train
from hekat.protocol.horizontal.validation_settings import ValidationSettings
from hekat.protocol.secure_sum.aggregation import Alone
from hekat.protocol.stopwatch import Stopwatch
from hekat.run.horizontal.evaluation import evaluation_of
from hekat.run.horizontal.load_inputs import HorizontalInputs
from hekat.run.progress import Progress
from hekat.run.rows.upload_states import open_passing_states
from hekat.scheme.paillier import KeyPair
from hekat.state import EventLog
from hekat.summary.horizontal.finished_run import FinishedRun
from hekat.summary.horizontal.summary import TrainedAlone


@dataclass(frozen=True)
class Comparisons:
    """What was trained beside the run; empty or None where the job does not ask for it."""

    alone: dict[str, TrainedAlone] = field(default_factory=dict)
    plain: FinishedRun | None = None
    bits: tuple[FinishedRun, ...] = ()


@dataclass
class Comparer:
    """Trains in this process what the job wants its run to be compared with; `keys` sign for every role."""

    inputs: HorizontalInputs
    run_id: str
    keys: Mapping[str, PartyKey]
    events: EventLog
    progress: Progress

    def compare(self) -> Comparisons:
        """Everything that the job asks for, one after the other. Raises PartyStoppedError."""
        job = self.inputs.job
        alone = self._train_alone() if job.compare_alone else {}
        plain = None
        if job.compare_plain and job.settings.protection != "none":
            clear = replace(self._settings, protection="none", authority=None, check_sum=False, selective=None)
            plain = self._train(clear, "plain")
        return Comparisons(alone, plain, self._sweep_precision())

    @property
    def _settings(self) -> HorizontalSettings:
        """The job's, whose folds are of the run itself alone."""
        settings = self.inputs.job.settings
        return replace(settings, validation=ValidationSettings()) if settings.validation.folds else settings

    def _train_alone(self) -> dict[str, TrainedAlone]:
        found: dict[str, TrainedAlone] = {}
        evaluate = evaluation_of(self.inputs)
        # A party by itself sends nothing, and so has no reason to leave values out.
        training = replace(self._settings.training, keep=1.0, keep_by=TrainingSettings().keep_by)
        settings = replace(self._settings, training=training, selective=None)
        self.progress.begin("alone", len(self.inputs.tables))
        for party, table in self.inputs.tables.items():
            made = self.inputs.make_model(party)
            local = LocalRun(Stopwatch(), lambda record, state: None, lambda state: None, model=made.model)
            state = train(Alone(), table, settings, local, party=party)
            found[party] = TrainedAlone(evaluate(state), state.validation.final or {})
            self.events.write("alone", party=party, **asdict(found[party]))
            self.progress.advance("alone", party)
        return found

    def _sweep_precision(self) -> tuple[FinishedRun, ...]:
        """The job at other bits per value; one Paillier key serves them all, and the run itself makes its own."""
        settings, key_pair = self._settings, self.inputs.key_pair
        if settings.protection == "paillier" and self.inputs.job.compare_bits and key_pair is None:
            key_pair = make_leader_key(settings, Stopwatch(), self.progress)
        return tuple(
            self._train(with_bits(settings, bits), f"{bits} bits", key_pair) for bits in self.inputs.job.compare_bits
        )

    def _train(self, settings: HorizontalSettings, name: str, key_pair: KeyPair | None = None) -> FinishedRun:
        with open_passing_states(self.inputs, settings) as states:
            run, _ = Phase(
                self.inputs,
                settings,
                name,
                self.run_id,
                self.keys,
                self.events,
                self.progress,
                states,
                key_pair=key_pair,
            ).play()
        return run
