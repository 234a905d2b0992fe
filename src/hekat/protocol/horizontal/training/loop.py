"""The training loop of one party: local work, a weighted mean over all parties, the same server step everywhere."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from hekat.codec.clip import FloatArray
from hekat.data import Table
from hekat.data.columns.fill_in import fill_in
from hekat.errors import InputError
from hekat.protocol.horizontal.settings import MAX_LOSS, HorizontalSettings
from hekat.protocol.horizontal.training.agreed_mask import AgreedMask
from hekat.protocol.horizontal.training.algorithms.algorithm import LocalWork
from hekat.protocol.horizontal.training.algorithms.scaffold import ROW_COUNT_STEP, move_shared
from hekat.protocol.horizontal.training.clipping import (
    clipped_by_tensor,
    make_policy,
    sizes_of,
    total_clipped,
)
from hekat.protocol.horizontal.training.divergence import check_finite, check_magnitude
from hekat.protocol.horizontal.training.fills import agree_on_fills
from hekat.protocol.horizontal.training.kept_values import KeptValues
from hekat.protocol.horizontal.training.line_search import LineSearchStep, RoundTotals, has_settled, penalty_of
from hekat.protocol.horizontal.training.local_run import LocalRun
from hekat.protocol.horizontal.training.local_training import local_update
from hekat.protocol.horizontal.training.make_step import first_search, make_step
from hekat.protocol.horizontal.training.own_state import first_own_state
from hekat.protocol.horizontal.training.private.charges import Charges
from hekat.protocol.horizontal.training.private.noised_sums import NoisedSums
from hekat.protocol.horizontal.training.private.private_rounds import PrivateRounds
from hekat.protocol.horizontal.training.standardise import (
    MOMENT_BITS,
    Standardiser,
    fit_standardiser,
)
from hekat.protocol.horizontal.training.trained_tensors import TrainedTensors
from hekat.protocol.horizontal.training.training_state import (
    RoundPrivacy,
    RoundRecord,
    TrainingState,
    digest_model,
    encode_totals,
)
from hekat.protocol.horizontal.training.validation import (
    Validation,
    ValidationState,
    fold_group,
    fold_step,
    hold_out,
    split_fold,
)
from hekat.protocol.secure_sum.aggregation import (
    Aggregate,
    Aggregation,
    Counter,
    SumRequest,
    scale_by_weight,
    sum_counters,
)
from hekat.protocol.secure_sum.agreement.final_model import ModelTrail
from hekat.protocol.secure_sum.streamed_tensor import Tensors
from hekat.protocol.secure_sum.update_norm import SCALED_DOWN, UpdateNorm
from hekat.protocol.stop_rules import should_stop

LOSS_UNITS = 2**20


def train(
    aggregation: Aggregation, table: Table, settings: HorizontalSettings, run: LocalRun, *, party: str
) -> TrainingState:
    """Train to the last round or to the stop rule; returns the state every party ends with.

    1. agree on what fills empty cells, on the standardiser, and for `lbfgs` on the first curvature (once); where only a
       part of an update is masked, on which one, before the first round and as often as the job says;
    2. each round: the local update, clipped and averaged over the parties, one server step;
    3. compare model digests and agree whether to stop;
    4. where rows are held out, validate the model that training ends with; where the job has folds, train a model
       without each of them in the same way, and validate it on the fold;
    5. compare the final model, party by party.
    """
    if table.labels is None:
        raise InputError(
            f"party {party} has no labels",
            expected="a label for every row",
            got="a table without labels",
            cure="name the label column in the party's site file",
        )
    if settings.privacy is not None:
        lane_bits, weight_max = settings.codec.value_bits, settings.weight_max
        aggregation = NoisedSums(aggregation, lane_bits=lane_bits, weight_max=weight_max)
    trainer = _Trainer(aggregation, *hold_out(table, settings), settings, run, party)
    trainer.play_rounds()
    trainer.validate_at_end()
    if len(trainer.state.folds) < settings.validation.folds:
        trainer.cross_validate(table)
    trainer.compare_at_end()
    return trainer.state


@dataclass(frozen=True)
class _Summed:
    """What a round's sum gave: `request` was this party's own part, with its `update`; `sizes` are the tensors'."""

    aggregate: Aggregate
    loss: float
    update: Tensors
    request: SumRequest
    bounds: dict[str, float]
    sizes: dict[str, int]
    clipped_count: int = 0
    validation: dict[str, float] = field(default_factory=dict)
    privacy: RoundPrivacy | None = None


class _Trainer:
    """One party's loop over the rows of `table`: its constant parts, and the state that changes.

    `fold` is the number of the fold whose rows `held_out` are; 0 for the model that the run is for. Models of folds are
    not kept: their trainings begin anew after a stop.
    """

    def __init__(
        self,
        aggregation: Aggregation,
        table: Table,
        held_out: Table | None,
        settings: HorizontalSettings,
        run: LocalRun,
        party: str,
        *,
        fold: int = 0,
    ) -> None:
        assert table.labels is not None
        self._aggregation, self._settings, self._run, self._party = aggregation, settings, run, party
        self._fold = fold
        self._model = run.model_for(settings, table.features.shape[1])
        self._trained = TrainedTensors.of(self._model, settings.model.parameters)
        self._step = make_step(self._model, self._trained, settings)
        self._kept = KeptValues(settings, self._model, self._trained, run) if settings.training.kept.is_on else None
        self._own = run.own or first_own_state(self._trained, self._model.parameter_shapes, settings.training)
        self.state = run.resume_from or self._first_state(table)
        with run.stopwatch.measure("train"):
            self._features = self.state.standardiser.apply(table.features)
            self._labels = self.state.standardiser.apply_to_labels(table.labels)
            self._validation = Validation(
                self._model, held_out, self.state.standardiser, settings, self.state.validation, run.stopwatch
            )
            plan = settings.plan_privacy(sum(math.prod(self._model.parameter_shapes[n]) for n in self._trained.names))
            self._private = plan and PrivateRounds(
                self._model, self._trained, plan, self._features, self._labels, Charges(plan, run.charge, run.record)
            )
        self._policy = make_policy(
            settings.sums.codec, aggregation, self.state.bounds, searches_line=settings.training.searches_line
        )
        self._norm = UpdateNorm(settings.sums)
        self._mask = AgreedMask(aggregation, self._model, self._trained, settings, run.stopwatch, is_fold=fold > 0)
        self._trail = ModelTrail(run.digest_key)

    def _first_state(self, table: Table) -> TrainingState:
        reach = None
        fill = agree_on_fills(self._aggregation, table, self._settings.fills, self._settings.weight_max)
        standardiser = Standardiser(*self._public_moments(table), fill)
        if self._settings.training.standardise:
            fitted, reach = fit_standardiser(
                self._aggregation,
                fill_in(table.features, fill),
                self._settings.weight_max,
                indicators=table.indicator_places,
                labels=table.labels if self._settings.standardises_labels else None,
                on_columns=self._run.on_columns,
            )
            standardiser = replace(fitted, fill=fill)
        parameters = self._model.init(self._settings.model.seed)
        if isinstance(self._step, LineSearchStep):
            features = standardiser.apply(table.features)
            first = first_search(
                self._step, self._aggregation, features, self._settings, indicators=table.indicator_places, reach=reach
            )
        else:
            first = self._step.init_state(parameters)
        state = TrainingState(parameters, first, standardiser, vocabulary=self._run.vocabulary)
        if self._settings.training.kept.sees_sums:
            state.seen = {name: np.zeros_like(parameters[name]) for name in self._trained.weights}
        if self._settings.training.has_control:
            rows = Counter("rows", len(table), maximum=self._settings.weight_max)
            state.row_count = sum_counters(self._aggregation, ROW_COUNT_STEP, [rows], value_bits=MOMENT_BITS)["rows"]
            state.control = {name: np.zeros_like(parameters[name]) for name in self._trained.weights}
        return state

    def _public_moments(self, table: Table) -> tuple[FloatArray, FloatArray]:
        """The mean and spread of each column as the job states them: 0 and 1 where it does not."""
        privacy = self._settings.privacy
        if privacy is None:
            return np.zeros(len(table.feature_names)), np.ones(len(table.feature_names))
        return privacy.moments_of(table.feature_names)

    def play_rounds(self) -> None:
        """Rounds up to the last one or to the stop rule."""
        while self.state.rounds_done < self._settings.training.round_count and not self.state.finished:
            self._play_round()

    def _play_round(self) -> None:
        """One round, from the local update to the agreement on the model."""
        settings, state = self._settings, self.state
        number = state.rounds_done + 1
        step = f"{fold_group(self._fold)}/round-{number}" if self._fold else f"round-{number}"
        takes_part = self._aggregation.takes_part(step)
        summed = self._sum_noised(self._private, number, step) if self._private else self._sum_exactly(number, step)
        aggregate, clipped_count = summed.aggregate, summed.clipped_count
        kept = self._apply(aggregate, summed.loss, is_clipped=clipped_count > 0)
        state.losses.append(kept * state.standardiser.loss_unit)
        state.rounds_done = number
        state.bounds = self._policy.known
        state.finished = self._should_stop(is_validated=bool(summed.validation), is_clipped=clipped_count > 0)
        if isinstance(self._step, LineSearchStep) and (state.finished or number == settings.training.round_count):
            state.parameters = self._step.conclude(state.parameters, state.optimiser_state)
        if settings.training.keeps_own_state:
            state.last_rounds.update(dict.fromkeys(aggregate.parties or settings.parties, number))
            if takes_part:
                sent = self._aggregation.as_sent(summed.request)
                sent = sent if self._kept is None else self._kept.put_back(sent)
                self._own = self._own.after(number, summed.update, sent)
                self._run.save_own(self._own)
        digest = digest_model(state, self._run.digest_key)
        self._trail.add(digest)
        if not self._fold:  # all rounds of a fold are one group
            self._aggregation.end_group()
        self._aggregation.finish_round(step, digest, state.finished)
        self._run.save(state)
        sizes = {name: size * aggregate.party_count for name, size in summed.sizes.items()}
        record = RoundRecord(
            round=number,
            loss=state.losses[-1],
            clipped_count=clipped_count,
            value_count=sum(sizes.values()),
            bounds={name: bound for name, bound in summed.bounds.items() if math.isfinite(bound)},
            row_count=aggregate.weight_sum,
            party_count=aggregate.party_count,
            validation=summed.validation,
            clipped_by_tensor=clipped_by_tensor(aggregate.counters, list(summed.sizes)),
            values_by_tensor=sizes,
            scaled_down_count=aggregate.counters.get(SCALED_DOWN, 0),
            privacy=summed.privacy,
        )
        self._run.on_round(record, state)

    def _sum_exactly(self, number: int, step: str) -> _Summed:
        """The parties' updates, weighted by rows, and the exact counters beside them."""
        settings, state = self._settings, self.state
        mask = self._mask.before(number, state, self._features, self._labels)
        takes_part = self._aggregation.takes_part(step)
        work = self._work_locally(number) if takes_part else self._nothing_of_its_own()
        meant, weight = work.update, work.weight
        part = meant if self._kept is None else self._kept.take(self._aggregation, step, meant, state.seen)
        update, factor = self._norm.limit(part)
        scaled = scale_by_weight(update, weight, settings.weight_max)
        check_magnitude(self._party, number, scaled)
        bounds = self._policy.bounds_for(self._aggregation, step, scaled)
        counters = self._policy.counters_for(scaled, bounds, len(settings.parties))
        counters.append(_loss_counter(work.loss, weight, settings.weight_max))
        counters += self._norm.counters_for(factor)
        counters += [] if self._fold else self._validation.counters_for(number, state.parameters)
        request = SumRequest(step, update, bounds, weight, counters, mask=mask)
        aggregate = self._aggregation.weighted_mean(request)
        self._norm.check(step, aggregate, bounds)
        if self._kept is None:
            meant = update
        else:
            meant = self._kept.put_into(meant, update)
            aggregate = replace(aggregate, mean=self._kept.receive(aggregate.mean, state.seen))
        self._policy.learn(aggregate.counters, sizes_of(scaled), aggregate.party_count)
        validation = self._validation.learn(number, aggregate.counters)
        clipped_count = total_clipped(aggregate.counters, list(scaled))
        loss = aggregate.counters["loss"] / LOSS_UNITS / aggregate.weight_sum
        return _Summed(aggregate, loss, meant, request, bounds, sizes_of(scaled), clipped_count, validation)

    def _sum_noised(self, private: PrivateRounds, number: int, step: str) -> _Summed:
        """The parties' bounded and noised parts over a public divisor, and no counter beside them."""
        assert isinstance(self._aggregation, NoisedSums)  # as `train` makes it
        found = private.play(
            self._aggregation, step, number, self.state.parameters, lambda: self._train_locally(number)
        )
        return _Summed(
            found.aggregate, found.loss, {}, SumRequest(step), {}, sizes_of(found.aggregate.mean), privacy=found.cost
        )

    def validate_at_end(self) -> None:
        """Validate the final model, where that is due and not done yet."""
        if self._settings.validation.hold_out and self.state.validation.final is None:
            self._validation.finish(self._aggregation, self.state.parameters)
            self._run.save(self.state)

    def cross_validate(self, table: Table) -> None:
        """Train a model without each fold of `table`, and measure it there; columns stay as all rows have them."""
        run, state = self._run, self.state
        run.on_fold(len(state.folds), {})
        for fold in range(len(state.folds) + 1, self._settings.validation.folds + 1):
            alike = LocalRun(
                run.stopwatch,
                on_round=lambda record, state: None,
                save=lambda state: None,
                resume_from=self._state_of_fold(),
                digest_key=run.digest_key,
                job_digest=run.job_digest,
                model=run.model,
                model_code=run.model_code,
            )
            rows = split_fold(table, fold, self._settings)
            trainer = _Trainer(self._aggregation, *rows, self._settings, alike, self._party, fold=fold)
            trainer._trail = self._trail
            trainer.play_rounds()
            trainer._validation.finish(self._aggregation, trainer.state.parameters, fold_step(fold))
            found = trainer.state.validation
            state.folds.append({**(found.final or {}), "rounds": trainer.state.rounds_done})
            # The next fold's scores are counted in bins that follow the last one's.
            state.validation.edges = found.edges
            run.save(state)
            run.on_fold(fold, dict(state.folds[-1]))

    def _state_of_fold(self) -> TrainingState:
        """What the training of a fold begins with: all but the standardiser and the first curvature as new."""
        settings, state, folds = self._settings, self.state, self._settings.validation.folds
        parameters = self._model.init(settings.model.seed)
        if isinstance(self._step, LineSearchStep):
            penalty = penalty_of(state.optimiser_state)
            # A penalty by rows is by the rows of all folds but one.
            penalty *= folds / (folds - 1) if settings.penalty_by_rows else 1.0
            first = self._step.begin_again(state.optimiser_state, penalty=penalty)
        else:
            first = self._step.init_state(parameters)
        control = {name: np.zeros_like(values) for name, values in state.control.items()}
        seen = {name: np.zeros_like(values) for name, values in state.seen.items()}
        edges = ValidationState(edges=state.validation.edges.copy())
        return TrainingState(
            parameters, first, state.standardiser, control=control, seen=seen, validation=edges, mask=state.mask
        )

    def compare_at_end(self) -> None:
        """Compare the final model, and the totals of all sums before it, with every other party."""
        # A run resumed only for the comparison has saved nothing yet, and may stop here once more.
        self._run.save(self.state)
        digest = self._trail.end_with(digest_model(self.state, self._run.digest_key), encode_totals(self.state))
        self._run.on_compared(self._aggregation.compare_final(digest))

    def _should_stop(self, *, is_validated: bool, is_clipped: bool) -> bool:
        """Whether the stop rule ends training: by validation losses where rows are held out, else training losses.

        A line search stays where it is by a sum with clipped values, which so is no sign that nothing improves.
        """
        training = self._settings.training
        if training.searches_line and is_clipped:
            return False
        if training.searches_line and has_settled(self.state.optimiser_state):
            return True
        if not self._settings.validation.hold_out:
            return should_stop(self.state.losses, training)
        return is_validated and should_stop(self.state.validation.losses, training)

    def _work_locally(self, number: int) -> LocalWork:
        training, state = self._settings.training, self.state
        work = self._train_locally(number)
        with self._run.stopwatch.measure("train"):
            update = self._own.complete(work, state.control, training.learning_rate)
            if isinstance(self._step, LineSearchStep):
                update = self._step.to_units(update, state.optimiser_state)
        check_finite(self._party, number, update, work.loss)
        return replace(work, update=update)

    def _train_locally(self, number: int) -> LocalWork:
        party_number = self._settings.parties.index(self._party)
        rng = np.random.default_rng([self._settings.training.seed, number, party_number])
        with self._run.stopwatch.measure("train"):
            return local_update(
                self._model,
                self.state.parameters,
                self._features,
                self._labels,
                self._settings.training,
                rng,
                trained=self._trained,
                correction=self._own.correction(self.state.control),
            )

    def _nothing_of_its_own(self) -> LocalWork:
        """The form of an update, for a round whose sample leaves this party out; it sends nothing."""
        return LocalWork(
            self._trained.update_like(self._model, has_control=self._settings.training.has_control), 0.0, 1, 0
        )

    def _apply(self, aggregate: Aggregate, loss: float, *, is_clipped: bool) -> float:
        """The common step, and scaffold's step of c; returns the loss of the round.

        `loss` belongs to the model at the round's start; a line search gives the loss of the model that it keeps.
        """
        state = self.state
        with self._run.stopwatch.measure("train"):
            if isinstance(self._step, LineSearchStep):
                error = aggregate.party_count / LOSS_UNITS / aggregate.weight_sum
                totals = RoundTotals(loss, error, aggregate.weight_sum, is_clipped)
                state.parameters, state.optimiser_state = self._step.apply(
                    state.parameters, aggregate.mean, state.optimiser_state, totals
                )
                return float(state.optimiser_state["loss"])
            state.parameters, state.optimiser_state = self._step.apply(
                state.parameters, aggregate.mean, state.optimiser_state
            )
            if state.control:
                # Every party is in every sum of a fold.
                rows = state.row_count or aggregate.weight_sum
                state.control = move_shared(state.control, aggregate.mean, aggregate.weight_sum / rows)
        return loss


def _loss_counter(loss: float, weight: int, weight_max: int) -> Counter:
    return Counter("loss", round(loss * weight * LOSS_UNITS), maximum=MAX_LOSS * weight_max * LOSS_UNITS)
