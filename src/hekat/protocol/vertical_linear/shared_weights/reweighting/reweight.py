"""Re-weighting between two parties: both move their shares of the weights to the log loss of rows that were scored.

    1. both meet with fresh keys, and check that they hold shares of one model
    2. for each column of scores: shares of the working rows' X^T W X and X^T t (`weighted_products`)
    3. steps on shares that solve the least squares of working rows with its penalty; nothing opens
The guest knows the scores from the calibration; the host learns that this is played, which both know from the job.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hekat.data import Table, is_dense
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical.batches import batch_count
from hekat.protocol.vertical.columns import apply_standardiser
from hekat.protocol.vertical_linear.mixing import MIXING, apply_mixing
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.party_run import PartyRun
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.shared_weights.cross_products.slots import check_result_count
from hekat.protocol.vertical_linear.shared_weights.handshake import OwnSide, meet
from hekat.protocol.vertical_linear.shared_weights.many_parties.gathered_gradients import GatheredGradients
from hekat.protocol.vertical_linear.shared_weights.many_parties.set_up import BatchProducts
from hekat.protocol.vertical_linear.shared_weights.own_columns import encode_own_features
from hekat.protocol.vertical_linear.shared_weights.pair import Pair
from hekat.protocol.vertical_linear.shared_weights.reweighting.weighted_products import WeightedProducts, pair_count
from hekat.protocol.vertical_linear.shared_weights.reweighting.weighted_step import STEPS, find_penalty, solving_steps
from hekat.protocol.vertical_linear.shared_weights.reweighting.working_rows import WorkingRows, unit_of
from hekat.protocol.vertical_linear.shared_weights.scales import TRUNCATED_BITS, Scales
from hekat.protocol.vertical_linear.shared_weights.weights import MODEL_INTERCEPT, MODEL_WEIGHTS, SharedWeights
from hekat.protocol.vertical_linear.timing_labels import PLAIN
from hekat.protocol.vertical_linear.training_settings import LinearTraining

IntArray = npt.NDArray[np.int64]

# Beyond so many products of an encrypted weight with two of the host's columns it would take minutes.
MOST_TERMS: Final = 1 << 25
MOST_COLUMNS: Final = 320


def fits(settings: VerticalLinearSettings, row_count: int, chosen_count: int) -> bool:
    """Whether `chosen_count` of `row_count` training rows are enough for a step that all rows bear out.

    Scores of some rows do where training came to the minimum over all rows, in one batch of them.
    """
    if not settings.reweights:
        return False
    one_batch = batch_count(row_count, settings.training.batch_rows) == 1
    room = Scales(settings.fixed_point, "linear").gram_gradient_bits(chosen_count) <= TRUNCATED_BITS
    return room and (one_batch or chosen_count == row_count)


def reweight(
    channel: RecordedChannel,
    part: ModelPart,
    rows: Table,
    settings: VerticalLinearSettings,
    run: PartyRun,
    working: WorkingRows | None,
) -> ModelPart | None:
    """Play this party's role; `rows` are the rows that were scored, `working` what the guest takes of them.

    Returns the part with its shares of the new weights; None where columns are sparse or too many, which public counts
    decide. Raises ProtocolError for shares of another model, and BoundError for features that are too large.
    """
    peer = settings.hosts[0] if channel.party == settings.guest else settings.guest
    scales = Scales(settings.fixed_point, "linear")
    with run.stopwatch.measure(PLAIN):
        prepared = apply_standardiser(rows.features, part.means, part.spreads, part.limit_spreads)
        features = encode_own_features(apply_mixing(prepared, part.arrays[MIXING]), scales, channel.party)
    own = OwnSide(
        is_guest=channel.party == settings.guest,
        peer=peer,
        row_count=len(rows),
        column_count=len(part.columns),
        sparse=not is_dense(prepared),
        key_bits=settings.key_bits,
        protection=settings.protection,
        key_pair=run.key_pair,
        sharing=part.model_id.encode(),
    )
    pair, sparse = meet(channel, own, scales, 1, run.stopwatch)
    if sparse or not is_worth(pair.size - 1, pair.host_columns, len(rows), settings.column_count):
        channel.ledger.note("calibration", "no re-weighting: columns are sparse, or too many", "public")
        return None
    channel.ledger.note("calibration", f"weights move to the log loss of {len(rows):,} rows, in shares", "public")
    check_result_count(settings.column_count * (pair.size * (pair.size + 2 * STEPS)))
    with run.stopwatch.measure(PLAIN):
        penalty = unit_of(settings.column_count) * find_penalty(np.asarray(prepared), part.arrays[MIXING])
    sides = WeightedProducts(pair, features, penalty)
    columns = sides.begin()
    training = solving_steps(len(rows), settings.column_count, len(settings.parties))
    solved = []
    for column in range(settings.column_count):
        step = f"reweight/{column + 1}"
        products = sides.play_host(step) if working is None else sides.play_guest(step, columns, working, column)
        solved.append(_solve(pair, step, products, features, _column_of(part, column), training))
    arrays = {
        MODEL_WEIGHTS: np.concatenate([one[MODEL_WEIGHTS] for one in solved], axis=1),
        MODEL_INTERCEPT: np.concatenate([one[MODEL_INTERCEPT] for one in solved]),
    }
    return replace(part, arrays={**part.arrays, **arrays})


def is_worth(all_columns: int, host_columns: int, row_count: int, column_count: int) -> bool:
    """Whether tables of so many columns, in all and at the host, are small enough; `column_count` is K."""
    return all_columns <= MOST_COLUMNS and column_count * row_count * pair_count(host_columns) <= MOST_TERMS


def _solve(
    pair: Pair,
    step: str,
    products: BatchProducts,
    features: IntArray,
    start: Mapping[str, npt.NDArray[Any]],
    training: LinearTraining,
) -> dict[str, npt.NDArray[Any]]:
    """This party's shares of one column of weights, by steps from `start`."""
    batches = [np.arange(len(features), dtype=np.int64)]
    gradients = GatheredGradients(pair, features, None, batches, [products])
    weights = SharedWeights(pair, training)
    weights.begin_from_model(start)
    for number in range(training.epochs):
        gradient = gradients.gradient(f"{step}/step-{number + 1}", 0, weights.weights)
        with pair.stopwatch.measure(PLAIN):
            weights.move(gradient, len(features))
    return weights.model_arrays()


def _column_of(part: ModelPart, column: int) -> dict[str, npt.NDArray[Any]]:
    """The part's shares of one column of weights."""
    at = slice(column, column + 1)
    return {MODEL_WEIGHTS: part.arrays[MODEL_WEIGHTS][:, at], MODEL_INTERCEPT: part.arrays[MODEL_INTERCEPT][at]}
