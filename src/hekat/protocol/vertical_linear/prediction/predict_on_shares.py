"""Joint prediction with weights in shares: the forward step of training on new rows, opened to the receivers alone.

1. both parties meet with fresh keys, and check that they hold shares of one model
2. in blocks of rows, each party gets its share of the scores (as in `residuals.score_shares`); a party that sends its
   shares adds its noise of the row (`score_noise`); both truncate to 2^-score_bits
3. each party sends its shares to the receivers: nothing opens but the score of every row
In a linear regression the guest's share includes the mean of the target, and the guest tells a host that receives the
spread of the target.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.errors import ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.shares.score_noise import score_noise
from hekat.protocol.shares.share_array import ShareArray, add_shares, from_integers, to_floats
from hekat.protocol.vertical.columns import apply_standardiser
from hekat.protocol.vertical_linear.fixed_point import encode_numbers
from hekat.protocol.vertical_linear.mixing import MIXING, apply_mixing
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.party_run import PartyRun
from hekat.protocol.vertical_linear.prediction.settings import PredictionSettings
from hekat.protocol.vertical_linear.prediction.target_spread import find_target_spread, send_target_spread
from hekat.protocol.vertical_linear.shared_weights.cross_products.slots import check_result_count
from hekat.protocol.vertical_linear.shared_weights.handshake import OwnSide, meet
from hekat.protocol.vertical_linear.shared_weights.messages import ScoreSharesMessage
from hekat.protocol.vertical_linear.shared_weights.own_columns import encode_own_features
from hekat.protocol.vertical_linear.shared_weights.pair import Pair
from hekat.protocol.vertical_linear.shared_weights.residuals import score_shares
from hekat.protocol.vertical_linear.shared_weights.scales import TARGET_LIMIT_BITS, TRUNCATED_BITS, Scales
from hekat.protocol.vertical_linear.shared_weights.weights import MODEL_INTERCEPT, MODEL_WEIGHTS
from hekat.protocol.vertical_linear.timing_labels import PLAIN
from hekat.protocol.vertical_linear.training_settings import FixedPoint

FloatArray = npt.NDArray[np.float64]

BLOCK_ROWS = 4096
SHARES_STEP = "predict/score-shares"


def predict_on_shares(
    channel: RecordedChannel, part: ModelPart, rows: Table, settings: PredictionSettings, run: PartyRun
) -> FloatArray | None:
    """The scores (rows, K) float64 at the receivers, None elsewhere; a regression's scores are in units of its target.

    `rows` are the common rows in common order, with the part's columns in its order. A score is off by less than one
    and a half units of 2^-score_bits (times the target's spread), with two receivers by less than two. Half a unit is
    the sender's noise, the same in every prediction of the row; less than one unit is truncation, which rounds up or
    down at random. Many answers on one row find the score with its noise, and nothing finer.

    Raises ProtocolError for shares of another model or of no scores, BoundError for features that are too large and for
    too many rows.
    """
    is_guest = channel.party == settings.guest
    peer = settings.hosts[0] if is_guest else settings.guest
    scales = Scales(FixedPoint(part.feature_bits, part.value_bits), part.task)
    with run.stopwatch.measure(PLAIN):
        prepared = apply_standardiser(rows.features, part.means, part.spreads, part.limit_spreads)
        prepared = apply_mixing(prepared, part.arrays.get(MIXING))
        features = encode_own_features(prepared, scales, channel.party)
        weights = np.concatenate([part.arrays[MODEL_INTERCEPT][np.newaxis], part.arrays[MODEL_WEIGHTS]])
    side = side_of(channel, part, features, settings, run)
    check_result_count(2 * len(rows) * weights.shape[1])
    pair, _ = meet(channel, side, scales, weights.shape[1], run.stopwatch)
    if pair.size != len(weights):
        raise ProtocolError(
            f"{peer} comes with other columns than the model was trained on",
            expected=f"{len(weights) - 1} columns of both parties",
            got=f"{pair.size - 1}",
            cure="use the parts of one training",
        )
    is_sent = peer in settings.receivers
    shares = _score_shares(pair, features, weights, part, settings.told_bits(part), is_sent=is_sent)
    return _open_scores(channel, part, shares, peer, settings)


def side_of(
    channel: RecordedChannel, part: ModelPart, features: Any, settings: PredictionSettings, run: PartyRun
) -> OwnSide:
    """What a party brings to the handshake of a prediction; `features` (rows, columns) are its integers."""
    is_guest = channel.party == settings.guest
    return OwnSide(
        is_guest=is_guest,
        peer=settings.hosts[0] if is_guest else settings.guest,
        row_count=features.shape[0],
        column_count=len(part.columns),
        sparse=not isinstance(features, np.ndarray),
        key_bits=part.key_bits,
        protection="paillier",
        key_pair=run.key_pair,
        sharing=part.model_id.encode(),
    )


def _score_shares(
    pair: Pair, features: Any, weights: ShareArray, part: ModelPart, told_bits: int, *, is_sent: bool
) -> ShareArray:
    """This party's shares of the scores, at 2^-told_bits; with its noise where it sends them."""
    blocks = []
    cut_bits = pair.scales.feature_bits + part.value_bits - told_bits
    for start in range(0, features.shape[0], BLOCK_ROWS):
        block = features[start : start + BLOCK_ROWS]
        scores = score_shares(pair, f"predict/rows-{start}", block, weights)
        if is_sent:
            with pair.stopwatch.measure(PLAIN):
                scores = add_shares(scores, score_noise(block, weights, cut_bits, part.target_count))
        blocks.append(pair.truncation.truncate(scores, cut_bits))
    shares = np.concatenate(blocks)
    if not pair.is_guest or part.task != "linear":
        return shares
    mean = np.array([part.target_mean / part.target_spread])
    return add_shares(shares, from_integers(encode_numbers(mean, told_bits, TARGET_LIMIT_BITS, "the mean")))


def _open_scores(
    channel: RecordedChannel, part: ModelPart, shares: ShareArray, peer: str, settings: PredictionSettings
) -> FloatArray | None:
    if peer in settings.receivers:
        channel.send(peer, SHARES_STEP, ScoreSharesMessage(shares=shares))
        send_target_spread(channel, part, peer)
    if channel.party not in settings.receivers:
        return None
    others = received_shares(channel, peer, shares.shape)
    scores = checked_scores(to_floats(add_shares(shares, others), settings.told_bits(part)), part, peer)
    return scores * find_target_spread(channel, part)


def checked_scores(scores: FloatArray, part: ModelPart, senders: str) -> FloatArray:
    """The opened `scores`, before they are multiplied with a spread. Raises ProtocolError for what no model gives.

    Larger ones could not be truncated. Shares that do not belong together give such scores but for odds below 2^-40.
    """
    range_bits = TRUNCATED_BITS - part.feature_bits - part.value_bits
    if (np.abs(scores) >= 2.0**range_bits).any():
        raise ProtocolError(
            f"shares of scores from {senders} give numbers that are no scores of this model",
            expected=f"scores below 2^{range_bits}",
            got="larger ones",
            cure="use the parts of one training at all parties, or find out what runs at the other party",
        )
    return scores


def received_shares(channel: RecordedChannel, sender: str, shape: tuple[int, ...]) -> ShareArray:
    """The shares of the scores that a holder sends to a receiver. Raises ProtocolError for other scores."""
    shares = channel.receive(sender, SHARES_STEP, ScoreSharesMessage).shares
    if shares.shape != shape:
        raise ProtocolError(f"{sender} sent shares of other scores", expected=f"shape {shape}", got=f"{shares.shape}")
    return shares
