"""A party's part of a round with differential privacy: terms clipped, summed, rounded and noised, and the sum read.

Source: Kairouz et al. 2021, Algorithm 1, without rotation; Abadi et al. 2016, Algorithm 1 (rows).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hekat.codec.clip import FloatArray
from hekat.data import Features
from hekat.errors import InputError
from hekat.model import Model
from hekat.model.rows.row_sums import RowModel, as_row_model
from hekat.privacy.noised_levels import clip_factors, noised_levels
from hekat.privacy.norm import norm_of
from hekat.privacy.secret_words import draw_coins
from hekat.protocol.horizontal.privacy_settings import PrivacyPlan
from hekat.protocol.horizontal.training.algorithms.algorithm import LabelArray, LocalWork
from hekat.protocol.horizontal.training.private.charges import Charges
from hekat.protocol.horizontal.training.private.noised_sums import NoisedSums
from hekat.protocol.horizontal.training.private.sum_check import check_noised_sum, most_terms
from hekat.protocol.horizontal.training.trained_tensors import TrainedTensors
from hekat.protocol.horizontal.training.training_state import RoundPrivacy
from hekat.protocol.secure_sum.aggregation import Aggregate
from hekat.protocol.secure_sum.streamed_tensor import Tensors

LOSS = "loss (noised)"
"""The name of the loss beside the tensors of an update; no tensor has a blank in its name."""
# Rows whose slopes are held at once.
_ROWS_AT_ONCE = 8192


@dataclass(frozen=True)
class NoisedRound:
    """What every party holds after a round: noised sums over the public divisor, which stands as their weight; and
    what the round's release, and those before it, have cost this party."""

    aggregate: Aggregate
    loss: float
    cost: RoundPrivacy


class PrivateRounds:
    """One party's rounds. A part has fresh noise and is made once: a sum that is repeated repeats the same levels."""

    def __init__(
        self,
        model: Model,
        trained: TrainedTensors,
        plan: PrivacyPlan,
        features: Features,
        labels: LabelArray,
        charges: Charges,
    ) -> None:
        """Raises InputError for a model whose rows cannot be bounded, where the unit is a row."""
        self._plan, self._trained, self._model, self._charges = plan, trained, model, charges
        self._features, self._labels = features, labels
        self._rows: RowModel | None = as_row_model(model) if plan.settings.unit == "row" else None
        if self._rows is not None and trained.statistics:
            raise InputError(
                "statistics of a batch are no term of a row",
                expected="a model without running statistics",
                got=", ".join(trained.statistics[:5]),
                cure="take GroupNorm or LayerNorm in place of batch normalisation, or privacy.unit = 'party'",
            )

    def play(
        self, sums: NoisedSums, step: str, number: int, parameters: Tensors, work: Callable[[], LocalWork]
    ) -> NoisedRound:
        """Charge round `number`, send this party's part of it, and read the sum; `work` gives the update of a party.

        A party that the round's sample leaves out charges nothing and sends nothing. Raises BudgetError before anything
        is trained.
        """
        like = {**self._trained.update_like(self._model, has_control=False), LOSS: np.zeros(1)}
        part = {name: np.zeros(values.shape, np.int64) for name, values in like.items()}
        if sums.takes_part(step):
            self._charges.charge(number)
            values = self._values_of_rows(self._rows, parameters) if self._rows else self._values_of_party(work())
            part = {name: noised_levels(values[name], self._plan.mechanism) for name in part}
        found = sums.sum_noised(step, part)
        check_noised_sum(step, found, self._plan.mechanism, most_terms(self._plan.settings, sums.weight_max))
        unit = self._plan.mechanism.granularity / self._plan.divisor
        mean: Tensors = {name: np.asarray(unit * levels) for name, levels in found.tensors.items()}
        loss = float(mean.pop(LOSS)[0]) * self._plan.loss_unit
        if self._rows is not None:
            # The penalty is no row's, and public.
            for name, slope in self._rows.penalty_slope(parameters).items():
                if name in mean:
                    mean[name] = mean[name] + slope
        aggregate = Aggregate(mean, self._plan.divisor, {}, found.party_count, found.parties)
        return NoisedRound(aggregate, loss, self._charges.tell(number, sums.parties_in))

    def _values_of_rows(self, model: RowModel, parameters: Tensors) -> Tensors:
        """The sum over the rows of the round of gradients, each clipped to C, and of losses, each cut to [0, L]."""
        privacy, names = self._plan.settings, self._trained.weights
        chosen = np.arange(self._features.shape[0])
        if privacy.batches == "poisson-secret":
            chosen = chosen[draw_coins(len(chosen), privacy.sampling)]
        total, update = 0.0, {name: np.zeros(self._model.parameter_shapes[name]) for name in names}
        for start in range(0, len(chosen), _ROWS_AT_ONCE):
            rows = chosen[start : start + _ROWS_AT_ONCE]
            losses, sums = model.sum_clipped_rows(
                parameters, self._features[rows], self._labels[rows], self._factors, names
            )
            total += float(_cut_losses(losses, privacy.loss_bound).sum())
            for name, values in sums.items():
                update[name] += values
        return {**update, LOSS: np.array([total / self._plan.loss_unit])}

    def _factors(self, norms: FloatArray) -> FloatArray:
        return clip_factors(norms, self._plan.settings.clip)

    def _values_of_party(self, work: LocalWork) -> Tensors:
        """The update of a party, clipped to C, and its loss, cut to [0, L]."""
        factor = float(self._factors(np.array([norm_of(work.update)]))[0])
        loss = _cut_losses(np.array([work.loss]), self._plan.settings.loss_bound)
        # Nothing times infinity is no number.
        update = {name: factor * each if factor else np.zeros(each.shape) for name, each in work.update.items()}
        return {**update, LOSS: loss / self._plan.loss_unit}


def _cut_losses(losses: FloatArray, bound: float) -> FloatArray:
    """Losses cut to [0, L (1 - 2^-20)]; one that is no number counts as L."""
    return np.clip(np.nan_to_num(losses, nan=math.inf), 0.0, bound * (1 - 2.0**-20))
