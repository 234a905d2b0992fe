"""Which values of each round's update are masked, where a job masks only a part of them."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from hekat.data import Features
from hekat.model import Model
from hekat.model.parameters import Labels
from hekat.privacy import Mask, sensitivity_map
from hekat.privacy.sensitivity.directions import Directions
from hekat.privacy.sensitivity.mean_over_rows import source_of
from hekat.privacy.sensitivity.source import SensitivitySource
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.training.trained_tensors import CONTROL, TrainedTensors
from hekat.protocol.horizontal.training.training_state import TrainingState
from hekat.protocol.secure_sum.aggregation import Aggregation
from hekat.protocol.secure_sum.integer_sums import IntArray, sum_integers
from hekat.protocol.secure_sum.selective.agree_on_mask import WeightedMap, agree_on_mask
from hekat.protocol.stopwatch import Stopwatch


class AgreedMask:
    """The mask in the state of a training: agreed on before the first round, and anew as often as the job says."""

    def __init__(
        self,
        aggregation: Aggregation,
        model: Model,
        trained: TrainedTensors,
        settings: HorizontalSettings,
        stopwatch: Stopwatch,
        *,
        is_fold: bool,
    ) -> None:
        """`is_fold`: the training is of a fold, which takes the mask of the model that the run is for."""
        self._is_fold = is_fold
        self._aggregation, self._model, self._trained = aggregation, model, trained
        self._settings, self._stopwatch = settings, stopwatch
        self._of_update: tuple[Mask, Mask] | None = None

    def before(self, number: int, state: TrainingState, features: Features, labels: Labels) -> Mask | None:
        """The mask of the update of round `number`, which is in the state; None where all values are masked.

        Statistics of normalisations, which no map ranks, are masked always, and changes of control variates as their
        weights are.
        """
        selective = self._settings.selective
        if selective is None:
            return None
        if selective.is_due(number) and not self._is_fold:
            state.mask = self._agree(selective.group_before(number), state, features, labels)
        assert state.mask is not None  # round 1 has made it, or the checkpoint of a round after it has it
        return self.of_update(state.mask)

    def of_update(self, mask: Mask) -> Mask:
        """The mask of weights, for all tensors of an update."""
        if self._of_update is None or self._of_update[0] is not mask:
            chosen = {name: mask.chosen(name) for name in self._trained.weights}
            shapes = self._model.parameter_shapes
            statistics = {name: np.ones(shapes[name], dtype=np.bool_) for name in self._trained.statistics}
            has_control = self._settings.training.has_control
            controls = {f"{CONTROL}{name}": flags for name, flags in chosen.items() if has_control}
            self._of_update = mask, Mask.from_arrays({**chosen, **statistics, **controls})
        return self._of_update[1]

    def _agree(self, group: str, state: TrainingState, features: Features, labels: Labels) -> Mask:
        selective, settings = self._settings.selective, self._settings
        assert selective is not None  # as in `before`
        with self._stopwatch.measure("map"):
            found = sensitivity_map(
                self._model,
                features,
                labels,
                params=state.parameters,
                mode=selective.mode,
                row_count=selective.row_count,
                fraction=selective.rules.fraction,
                seed=settings.training.seed,
            )
        weights = {name: found.tensors[name] for name in self._trained.weights}
        own = WeightedMap(replace(found, tensors=weights), features.shape[0] / settings.weight_max)

        def sum_of(step: str, tensors: dict[str, IntArray], maximum: int) -> dict[str, IntArray]:
            return sum_integers(
                self._aggregation, f"{group}/{step}", tensors, maximum=maximum, weight_max=settings.weight_max
            ).tensors

        return agree_on_mask(sum_of, own, selective.rules, party_count=len(settings.parties))


def source_of_maps(model: Model, settings: HorizontalSettings, column_count: int) -> SensitivitySource:
    """What the job's maps of `model` are read from, with a row of zeros: neither names nor sizes depend on rows.

    Raises InputError for a model that has no map.
    """
    assert settings.selective is not None  # the caller's
    rows, labels = np.zeros((1, column_count)), np.zeros(1, np.float64 if settings.classes is None else np.int64)
    directions = Directions(settings.selective.mode, settings.training.seed)
    return source_of(model, rows, labels, model.init(settings.model.seed), None, directions)


def check_mask_rules(model: Model, trained: TrainedTensors, settings: HorizontalSettings, column_count: int) -> None:
    """Raise InputError where `model` has no map, or the job's rules for masks do not fit its weights.

    To be called before any sum opens.
    """
    if settings.selective is not None:
        sizes = {name: prod(model.parameter_shapes[name]) for name in trained.weights}
        embeddings = source_of_maps(model, settings, column_count).embeddings
        settings.selective.rules.whole_tensors(sizes, embeddings)
