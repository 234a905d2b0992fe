"""The base of guest and host: their columns as integers, these columns' weights, and the optimiser."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.data.columns.moments import largest_magnitudes
from hekat.errors import BoundError
from hekat.ledger import Ledger
from hekat.model import Parameters
from hekat.model.parameters import check_same_shapes, shapes_of
from hekat.protocol.vertical.batches import draw_batches
from hekat.protocol.vertical.columns import describe_limited
from hekat.protocol.vertical_linear.arbiter.bfv_capacity import check_bfv_capacity
from hekat.protocol.vertical_linear.arbiter.messages import StartMessage
from hekat.protocol.vertical_linear.arbiter.sum_layout import MAX_BATCH_ROWS, SumLayout
from hekat.protocol.vertical_linear.columns import Targets, prepare_training_columns
from hekat.protocol.vertical_linear.fixed_point import (
    decode_features,
    encode_features,
    encode_scores,
    step_error_bound,
)
from hekat.protocol.vertical_linear.label_leak.column_rows import check_column_rows
from hekat.protocol.vertical_linear.label_leak.equations import LeakCount
from hekat.protocol.vertical_linear.label_leak.leverage import find_high_leverage_columns
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.objective import WEIGHTS, make_job_optimiser, regularised, residual_of
from hekat.protocol.vertical_linear.party_run import PartState, PartyRun
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.trained_part import make_trained_part, mixing_array

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
OPTIMISER_PREFIX = "optimiser/"


class LocalTrainer:
    """One party's side of the training. `start` has the parameters that it trains, `weights` (columns, K) among
    them."""

    def __init__(
        self, party: str, table: Table, settings: VerticalLinearSettings, run: PartyRun, start: Parameters
    ) -> None:
        training = settings.training
        self.party, self.settings, self.run = party, settings, run
        self.column_names = table.feature_names
        self.row_count = len(table)
        self.batches = draw_batches(self.row_count, training.batch_rows, training.seed)
        self.columns = prepare_training_columns(table, settings, self.batches, run.begins_with)
        self.residual = residual_of(settings.task)
        self._integers = encode_features(self.columns.features, settings.fixed_point, party)
        self._floats = decode_features(self._integers, settings.fixed_point)
        # What mixed columns tell of rows, their owner can unmix: rules on rows look at the columns before that.
        plain = (
            encode_features(self.columns.plain, settings.fixed_point, party)
            if self.columns.mixing is not None
            else self._integers
        )
        self._plain = decode_features(plain, settings.fixed_point)
        self._optimiser = make_job_optimiser(training)
        self._part_bits = 0
        self._begin(start)

    def _begin(self, start: Parameters) -> None:
        run = self.run
        if run.resume_from is not None:
            arrays = run.resume_from.arrays
            self.parameters = _taken(arrays, start, f"the state of {self.party}")
            self._state = {
                name.removeprefix(OPTIMISER_PREFIX): np.asarray(values)
                for name, values in arrays.items()
                if name.startswith(OPTIMISER_PREFIX)
            }
            return
        self.parameters = start
        if run.start_from is not None:
            self.parameters = _taken(run.start_from, start, f"the weights that {self.party} starts from")
        self._state = self._optimiser.init_state(self.parameters)

    def note_limited(self, ledger: Ledger) -> None:
        """Note in the ledger how many values were set to the limit, where there is one."""
        limit = self.settings.limit_spreads
        if limit:
            ledger.note("setup", describe_limited(self.columns, limit), "public")

    def lay_out(self, start: StartMessage) -> SumLayout:
        """Lay out the sums of the run as all parties do. Raises BoundError for batches that are too large."""
        layout = SumLayout.of(start, self.settings)
        if self.settings.protection == "lattice":
            check_bfv_capacity(start, self.settings)
        if layout.largest_batch > MAX_BATCH_ROWS:
            raise BoundError(
                "sums over so many rows pass what their integers are made for",
                expected=f"at most {MAX_BATCH_ROWS:,} rows of a batch",
                got=str(layout.largest_batch),
                cure="set training.batch_rows",
            )
        self._part_bits = layout.part_bits
        return layout

    @property
    def column_count(self) -> int:
        """The party's own columns, without the intercept's."""
        return int(self.columns.features.shape[1])

    @property
    def feature_bits(self) -> int:
        """The bit length of the largest feature at its scale."""
        stored = self._integers if isinstance(self._integers, np.ndarray) else self._integers.data
        return max(1, int(np.abs(stored).max(initial=0)).bit_length())

    @property
    def largest_batch(self) -> int:
        """How many rows the largest batch has."""
        return max(len(rows) for rows in self.batches)

    def count_leak(self, ones: int = 0) -> LeakCount:
        """What this party's gradients tell, counted from its columns as the protocol uses them: rounded.

        `ones` is the number of columns of ones beside the party's own columns.
        """
        high = len(self.high_leverage_columns)
        return LeakCount(self.party, len(self.batches), self.column_count + ones, self.row_count, high)

    @cached_property
    def high_leverage_columns(self) -> tuple[str, ...]:
        """The names of the columns in which, in some batch, one row outweighs the rest."""
        found = find_high_leverage_columns(self._plain, self.batches)
        return tuple(name for name, is_high in zip(self.column_names, found.tolist(), strict=True) if is_high)

    def check_column_rows(self) -> None:
        """Raise PolicyError where this host's columns, as the protocol has them, share too few rows of a batch."""
        check_column_rows(self.party, self._plain, self.batches, self.feature_bits, self.settings)

    @property
    def epochs_done(self) -> int:
        """How many epochs the resumed run had done."""
        return self.run.epochs_done

    def scores(self, rows: IntArray) -> FloatArray:
        """This party's part of the scores u of a batch's rows, (rows, K)."""
        return np.asarray(self._floats[rows] @ self.parameters[WEIGHTS])

    def encode(self, parts: FloatArray) -> IntArray:
        """Round parts of residuals (rows, K) to integers. Raises BoundError."""
        return encode_scores(parts, self.settings.fixed_point, self.party, self._part_bits)

    def matrix(self, rows: IntArray) -> Any:
        """The party's integers (columns, rows) of a batch, dense, or sparse by columns."""
        part = self._integers[rows].T
        return np.ascontiguousarray(part) if isinstance(part, np.ndarray) else part.tocsr()

    def loss_part(self, gradient: FloatArray) -> float:
        """This party's part of the mean of d^2 over rows and K, from the gradient of its weights (columns, K)."""
        return float(self.residual.score_factor * np.sum(self.parameters[WEIGHTS] * gradient) / gradient.shape[1])

    def move(self, gradient: Parameters) -> None:
        """One step of the optimiser against the gradient of the loss, with the weights' own l1 and l2."""
        weights = self.parameters[WEIGHTS]
        direction = {**gradient, WEIGHTS: regularised(gradient[WEIGHTS], weights, self.settings.training)}
        self.parameters, self._state = self._optimiser.step(self.parameters, direction, self._state)

    def check_exactness(self, step: str, rows: IntArray, gradient: Parameters) -> None:
        """Give the run's exactness check, where there is one, the weights before a step and the step's gradient."""
        if self.run.exactness_check is not None:
            self.run.exactness_check.deposit(step, rows, self.party, self.parameters, gradient)

    def error_bound(self, least: float = 0.0) -> float:
        """Bound the fixed-point error of any entry of this party's gradients in any step.

        `least` is the smallest value to take for the largest feature: 1 for a column of ones.
        """
        largest = float(largest_magnitudes(self._floats).max(initial=least))
        return step_error_bound(largest, len(self.settings.parties), self.settings.fixed_point)

    def state(self, epochs_done: int, *, finished: bool, losses: tuple[float, ...] = ()) -> PartState:
        """What this party resumes from."""
        optimiser = {f"{OPTIMISER_PREFIX}{name}": values for name, values in self._state.items()}
        arrays = {**self.parameters, **optimiser, **mixing_array(self.columns)}
        return PartState(arrays, epochs_done, finished, losses)

    def model_part(self, session_id: bytes, targets: Targets | None = None) -> ModelPart:
        """This party's part of the trained model; `targets` are the guest's."""
        arrays = dict(self.parameters)
        return make_trained_part(
            self.party, self.settings, session_id, self.column_names, self.columns, arrays, targets
        )


def _taken(arrays: Mapping[str, npt.NDArray[Any]], like: Parameters, what: str) -> Parameters:
    """Copy the parameters out of `arrays`. Raises InputError unless they have the names and shapes of `like`."""
    parameters = {name: np.array(arrays[name]) for name in like if name in arrays}
    check_same_shapes(what, parameters, shapes_of(like))
    return parameters
