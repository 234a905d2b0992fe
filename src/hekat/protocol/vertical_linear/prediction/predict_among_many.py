"""Joint prediction among three parties or more whose weights lie in shares at two of them, the holders.

1. all meet, the holders with fresh keys, and check that they hold parts of one model
2. in blocks of rows, the holders get shares of the scores of their own columns (as in `residuals.score_shares`)
3. each holder sends each quiet party its shares of that party's weights encrypted; the party multiplies them with its
   rows, answers under masks, adds its noise of the row (`score_noise`) to its own shares of the products, and splits
   these into two addends, one to each holder: the holders have shares of the whole scores
4. each holder adds its own noise where it sends its shares, truncates to 2^-score_bits, and sends its shares to the
   receivers: nothing opens but the score of every row
In a linear regression the guest's part includes the mean of the target, and the guest tells the spread of the target to
hosts that receive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.errors import ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.shares.score_noise import score_noise
from hekat.protocol.shares.share_array import (
    ShareArray,
    add_shares,
    from_integers,
    shift_left,
    to_floats,
    zero_shares,
)
from hekat.protocol.vertical.columns import apply_standardiser
from hekat.protocol.vertical_linear.fixed_point import encode_numbers
from hekat.protocol.vertical_linear.mixing import MIXING, apply_mixing
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.party_run import PartyRun
from hekat.protocol.vertical_linear.prediction.predict_on_shares import (
    BLOCK_ROWS,
    SHARES_STEP,
    checked_scores,
    received_shares,
    side_of,
)
from hekat.protocol.vertical_linear.prediction.settings import PredictionSettings
from hekat.protocol.vertical_linear.prediction.target_spread import find_target_spread, send_target_spread
from hekat.protocol.vertical_linear.shared_weights.cross_products.slots import check_result_count
from hekat.protocol.vertical_linear.shared_weights.handshake import Meeting, meet_all
from hekat.protocol.vertical_linear.shared_weights.many_parties.addends import checked_addend, split
from hekat.protocol.vertical_linear.shared_weights.many_parties.holder_pair import make_holder_pair
from hekat.protocol.vertical_linear.shared_weights.many_parties.places import Places
from hekat.protocol.vertical_linear.shared_weights.many_parties.quiet_training import NOISE_KEY
from hekat.protocol.vertical_linear.shared_weights.messages import ScoreAddendsMessage, ScoreSharesMessage
from hekat.protocol.vertical_linear.shared_weights.own_columns import encode_own_features
from hekat.protocol.vertical_linear.shared_weights.pair import Pair
from hekat.protocol.vertical_linear.shared_weights.residuals import score_layout, score_shares
from hekat.protocol.vertical_linear.shared_weights.scales import TARGET_LIMIT_BITS, Scales
from hekat.protocol.vertical_linear.shared_weights.weights import MODEL_INTERCEPT, MODEL_WEIGHTS
from hekat.protocol.vertical_linear.timing_labels import PLAIN
from hekat.protocol.vertical_linear.training_settings import FixedPoint

FloatArray = npt.NDArray[np.float64]


def predict_among_many(
    channel: RecordedChannel, part: ModelPart, rows: Table, settings: PredictionSettings, run: PartyRun
) -> FloatArray | None:
    """The scores (rows, K) float64 at the receivers, None elsewhere; a regression's scores are in units of its target.

    As `predict_on_shares`. A score is off by less than a unit of 2^-score_bits, and half a unit for each party with
    columns whose part others receive. Raises as `predict_on_shares`.
    """
    scales = Scales(FixedPoint(part.feature_bits, part.value_bits), part.task)
    with run.stopwatch.measure(PLAIN):
        prepared = apply_standardiser(rows.features, part.means, part.spreads, part.limit_spreads)
        prepared = apply_mixing(prepared, part.arrays.get(MIXING))
        features = encode_own_features(prepared, scales, channel.party)
    check_result_count(2 * len(rows) * part.target_count * len(settings.parties))
    side = side_of(channel, part, features, settings, run)
    meeting = meet_all(channel, side, settings.parties, settings.guest, run.stopwatch, part.holders)
    prediction = _Prediction(channel, part, features, settings, run, meeting, scales)
    if channel.party not in part.holders:
        prediction.answer()
        send_spreads(channel, part, settings)
        if channel.party not in settings.receivers:
            return None
        own = zero_shares((len(rows), part.target_count))
        return open_scores(channel, part, own, settings)
    shares = prediction.hold()
    for receiver in settings.receivers:
        if receiver != channel.party:
            channel.send(receiver, SHARES_STEP, ScoreSharesMessage(shares=shares))
    send_spreads(channel, part, settings)
    return open_scores(channel, part, shares, settings) if channel.party in settings.receivers else None


def send_spreads(channel: RecordedChannel, part: ModelPart, settings: PredictionSettings) -> None:
    """Send the target's spread to all other receivers, where this party is the guest of a linear regression."""
    for receiver in settings.receivers:
        if receiver != channel.party:
            send_target_spread(channel, part, receiver)


def open_scores(channel: RecordedChannel, part: ModelPart, own: ShareArray, settings: PredictionSettings) -> FloatArray:
    """The scores, from this receiver's own shares (rows, K, 2) and the other holders' shares."""
    told_bits = settings.told_bits(part)
    for holder in part.holders:
        if holder != channel.party:
            own = add_shares(own, received_shares(channel, holder, own.shape))
    senders = ", ".join(holder for holder in part.holders if holder != channel.party)
    spread = find_target_spread(channel, part)
    return checked_scores(to_floats(own, told_bits), part, senders) * spread


@dataclass(frozen=True)
class _Prediction:
    """One party's side of a prediction among many; `features` (rows, own columns) are integers, dense or sparse."""

    channel: RecordedChannel
    part: ModelPart
    features: Any
    settings: PredictionSettings
    run: PartyRun
    meeting: Meeting
    scales: Scales

    @property
    def _cut_bits(self) -> int:
        return self.scales.feature_bits + self.part.value_bits - self.settings.told_bits(self.part)

    @property
    def _adds_noise(self) -> bool:
        """A party without columns adds none: its noise would be the same for all rows."""
        is_sent = any(receiver != self.channel.party for receiver in self.settings.receivers)
        return is_sent and bool(self.part.columns)

    def answer(self) -> None:
        """The quiet party's side: multiply the holders' shares of its weights with its rows, and split its own shares
        of the products between them."""
        for start in range(0, self.features.shape[0], BLOCK_ROWS):
            step, block = f"predict/rows-{start}", self.features[start : start + BLOCK_ROWS]
            shares = self._own_mean(block.shape[0])
            if self.part.columns:
                layout = self._layout(block.shape[0], len(self.part.columns))
                shape = (len(self.part.columns), self.part.target_count)
                for holder in self.part.holders:
                    cross = self.meeting.cross_products[holder]
                    factors = cross.receive_factors(f"{step}/weights", shape, layout)
                    shares = add_shares(shares, cross.answer(f"{step}/scores", block, factors, layout))
            if self._adds_noise:
                with self.run.stopwatch.measure(PLAIN):
                    secret = self.part.arrays[NOISE_KEY]
                    shares = add_shares(shares, score_noise(block, secret, self._cut_bits, self.part.target_count))
            for holder, addend in zip(self.part.holders, split(shares), strict=True):
                self.channel.send(holder, f"{step}/addends", ScoreAddendsMessage(shares=addend))

    def hold(self) -> ShareArray:
        """A holder's side: its shares (rows, K, 2) of the whole scores, at 2^-told_bits."""
        weights = np.concatenate([self.part.arrays[MODEL_INTERCEPT][np.newaxis], self.part.arrays[MODEL_WEIGHTS]])
        places = Places.of(self.part.holders, self.part.quiet_parties, self.meeting.column_counts)
        if places.size != len(weights):
            raise ProtocolError(
                "parties come with other columns than the model was trained on",
                expected=f"{len(weights) - 1} columns of all parties",
                got=f"{places.size - 1}",
                cure="use the parts of one training",
            )
        pair = make_holder_pair(
            self.channel,
            self.part.holders,
            self.meeting,
            self.scales,
            self.run.stopwatch,
            key_bits=self.part.key_bits,
            target_count=self.part.target_count,
        )
        blocks = []
        for start in range(0, self.features.shape[0], BLOCK_ROWS):
            step, block = f"predict/rows-{start}", self.features[start : start + BLOCK_ROWS]
            scores = add_shares(
                score_shares(pair, step, block, weights), self._of_quiet_parties(step, block.shape[0], weights, places)
            )
            blocks.append(self._cut(pair, block, weights, scores))
        shares = np.concatenate(blocks)
        if self.channel.party != self.settings.guest or self.part.task != "linear":
            return shares
        return add_shares(shares, from_integers(self._mean()))

    def _of_quiet_parties(self, step: str, row_count: int, weights: ShareArray, places: Places) -> ShareArray:
        """This holder's shares (rows, K, 2) of the quiet parties' parts of the scores."""
        part, shape = self.part, (row_count, self.part.target_count)
        counts = {name: self.meeting.column_counts[name] for name in part.quiet_parties}
        layouts = {name: self._layout(row_count, count) for name, count in counts.items() if count}
        for name, layout in layouts.items():
            self.meeting.cross_products[name].send_factors(f"{step}/weights", weights[places.ranges[name]], layout)
        total = zero_shares(shape)
        for name in counts:
            if name in layouts:
                cross = self.meeting.cross_products[name]
                total = add_shares(total, cross.open_answer(f"{step}/scores", shape, layouts[name]))
            message = self.channel.receive(name, f"{step}/addends", ScoreAddendsMessage)
            total = add_shares(total, checked_addend(message.shares, shape, name, step))
        return total

    def _cut(self, pair: Pair, block: Any, weights: ShareArray, scores: ShareArray) -> ShareArray:
        if self._adds_noise:
            with self.run.stopwatch.measure(PLAIN):
                noise = score_noise(block, weights, self._cut_bits, self.part.target_count)
                scores = add_shares(scores, noise)
        return pair.truncation.truncate(scores, self._cut_bits)

    def _layout(self, row_count: int, column_count: int) -> Any:
        return score_layout(self.scales, self.part.key_bits, row_count, column_count)

    def _mean(self) -> npt.NDArray[np.int64]:
        mean = np.array([self.part.target_mean / self.part.target_spread])
        return encode_numbers(mean, self.settings.told_bits(self.part), TARGET_LIMIT_BITS, "the mean")

    def _own_mean(self, row_count: int) -> ShareArray:
        """A quiet party's first shares (rows, K, 2): zeros, at the guest of a linear regression the target's mean."""
        zeros = zero_shares((row_count, self.part.target_count))
        if self.channel.party != self.settings.guest or self.part.task != "linear":
            return zeros
        return add_shares(zeros, shift_left(from_integers(self._mean()), self._cut_bits))
