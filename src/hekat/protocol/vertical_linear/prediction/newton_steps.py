"""How often weights move to the log loss: no more often than the host's columns bear the scores that the guest learns.

The guest learns scores of the same rows before and after a step, and each tells another combination of the host's
columns. As many combinations as independent columns show every row, but for a linear map. So the host counts its
independent columns, and tells the guest how often weights move. It relies on nothing that the guest says; what the
guest learns is whether the host has more independent columns than the scores tell combinations.

Columns that follow from others do not count, such as the last column of a category, or a value in two units. Nor do
columns of few values, among them all yes-or-no columns: there are few ways to fill them in, so that fewer combinations
than columns can show them.
Source: Nguyen and Stern 1999, "The hardness of the hidden subset sum problem and its cryptographic implications", for
columns of few values from combinations with unknown weights.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hekat.data import Features, Table, is_dense
from hekat.errors import ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical.columns import apply_standardiser
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.shared_weights.messages import NewtonStepsMessage
from hekat.protocol.vertical_linear.shared_weights.reweighting.reweight import MOST_COLUMNS
from hekat.protocol.vertical_linear.shared_weights.weights import MODEL_WEIGHTS

STEPS_STEP = "calibration/newton-steps"
FEW_VALUES: Final = 16
"""A column of so many values, or fewer, tells at most four bits of a row; a score to 2^-12 tells more."""
_FEW_SHARE: Final = 0.9
"""So many of the rows with the commonest values make a column one of few values: the rest are stray codes."""
_VALUE_UNIT: Final = 2.0**-12
"""Values no further apart than so many spreads of their column count as one: scores tell no more."""
_LEAST_SHARE: Final = 0.1
"""A direction along which columns vary less, in variances of one column, follows from the others but for noise."""


def newton_steps(independent_columns: int, column_count: int, *, is_part: bool) -> int:
    """How often the parties move their weights, where they may: 2 tells the guest the scores of two classes twice.

    `independent_columns` are the host's, `is_part` says that some of the training rows are scored and not all. A row's
    scores before and after a step must tell fewer combinations than the host has independent columns. `column_count` is
    K, 1 for two classes. Then two scores tell two combinations, and what is left out is the second step. The first K
    scores of K classes have one sum in all rows, as targets have, and tell K - 1; those after the step, which the
    softmax is fitted to, tell K.
    """
    if column_count > 1:
        return 1 if independent_columns > 2 * column_count - 1 else 0
    return 1 if is_part or independent_columns <= 2 else 2


def agree_on_steps(channel: RecordedChannel, part: ModelPart, rows: Table, *, is_part: bool) -> int:
    """How often weights move, as the host finds by its columns of the scored `rows`, and tells the guest.

    Raises ProtocolError at the guest for a number that the host's columns, all of them independent, would not bear.
    """
    told = "how often weights move: whether the host has more independent columns than scores tell combinations"
    if channel.party != part.guest:
        prepared = apply_standardiser(rows.features, part.means, part.spreads, part.limit_spreads)
        steps = newton_steps(count_independent_columns(prepared), part.target_count, is_part=is_part)
        channel.ledger.note("calibration", f"{told}; {steps} times", "disclosed")
        channel.send(part.guest, STEPS_STEP, NewtonStepsMessage(steps=steps))
        return steps
    host = part.hosts[0]
    steps = channel.receive(host, STEPS_STEP, NewtonStepsMessage).steps
    most = newton_steps(len(part.arrays[MODEL_WEIGHTS]) - len(part.columns), part.target_count, is_part=is_part)
    if not 0 <= steps <= most:
        raise ProtocolError(
            f"{host} says that weights move more often than its columns bear",
            expected=f"0 to {most} times",
            got=f"{steps}",
            cure="find out what runs there: this release sends no such number",
        )
    channel.ledger.note("calibration", f"{told}; {steps} times", "disclosed")
    return steps


def count_independent_columns(prepared: Features) -> int:
    """How many columns of `prepared` features (rows, columns), each of more than a few values, follow neither from each
    other nor from columns of few values.

    A direction counts where the columns have more than a tenth of a column's variance along it. Sparse and too many
    columns, which are not re-weighted, count as 0.
    """
    if not is_dense(prepared) or not 0 < prepared.shape[1] <= MOST_COLUMNS:
        return 0
    values: Any = np.asarray(prepared)
    is_few = np.array([_has_few_values(column) for column in values.T])
    if is_few.all():
        return 0
    centred = values - values.mean(axis=0)
    many = centred[:, ~is_few] / centred[:, ~is_few].std(axis=0)
    if is_few.any():
        few = centred[:, is_few]
        many = many - few @ np.linalg.lstsq(few, many, rcond=None)[0]
    variances = np.linalg.eigvalsh(many.T @ many / len(many))
    return int(np.count_nonzero(variances > _LEAST_SHARE))


def _has_few_values(column: npt.NDArray[np.float64]) -> bool:
    spread = column.std()
    if spread == 0:
        return True
    _, counts = np.unique(np.round((column - column.mean()) / spread / _VALUE_UNIT), return_counts=True)
    return bool(np.sort(counts)[-FEW_VALUES:].sum() >= _FEW_SHARE * column.size)
