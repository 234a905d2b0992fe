"""Joint prediction: the parties of one model compute scores of common rows, and only the receivers learn them.

With weights that each party holds of its own columns (form `arbiter`):

1. the guest tells all parties which model, how many rows and who receives; a party with another model, another number
   of rows or another job refuses
2. one receiver sums: the guest if it receives, else the first receiver. Every other party computes its part of each
   score; with two such parties or more, every two share a fresh seed, and masks grown from the seeds cancel in the sum
3. these parties send their masked parts to the receiver that sums; in a linear regression the guest's part includes the
   mean of the target, and the guest tells a host that sums the spread of the target
4. the receiver that sums adds its own part and sends the scores to the other receivers

With one other party nothing hides that party's part: it is the score less the receiver's own part. Shares of weights
(form `shared_weights`) go to `predict_on_shares`, where both parties' parts stay hidden.

Scores are told to 2^-score_bits alone. Each party rounds its own part, always in the same way: asked again, it tells
nothing finer, and no receiver sees what was rounded off. On shares, each row gets the same noise in every prediction.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from hekat.data import Table, check_finite, is_dense
from hekat.errors import ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical.columns import apply_standardiser, limit_values
from hekat.protocol.vertical.predicted_rows import arrange_rows, check_part
from hekat.protocol.vertical_linear.mixing import MIXING
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.party_run import PartyRun
from hekat.protocol.vertical_linear.prediction.calibrated import apply_calibration
from hekat.protocol.vertical_linear.prediction.masks import from_words, to_words, zero_sum_mask
from hekat.protocol.vertical_linear.prediction.messages import (
    MaskedScoresMessage,
    PartialScoresMessage,
    PredictionCallMessage,
    ScoresMessage,
)
from hekat.protocol.vertical_linear.prediction.settings import PredictionSettings
from hekat.protocol.vertical_linear.prediction.target_spread import find_target_spread, send_target_spread

FloatArray = npt.NDArray[np.float64]
WordArray = npt.NDArray[np.uint64]
_Scalar = TypeVar("_Scalar", np.float64, np.uint64)

CALL_STEP = "predict/call"
PARTS_STEP = "predict/parts"
SCORES_STEP = "predict/scores"


def predict_scores(
    channel: RecordedChannel, part: ModelPart, table: Table, settings: PredictionSettings, run: PartyRun
) -> FloatArray | None:
    """Play this party's role in a joint prediction of the rows of `table`, which all parties have in the same order.

    In form `arbiter` each party adds an error of at most half a unit of 2^-score_bits to a score. In form
    `shared_weights` a score is off by less than one and a half units, with two receivers by less than two, and by one
    unit of 2^-value_bits. In a regression all units are multiplied with the target's spread.

    Args:
        channel: The party's open session with the others.
        part: The party's own part of the model.
        table: The rows to predict, with at least the columns of the part.
        settings: What all parties agreed on.
        run: What the machine gives the role; `run.count_predictions` may refuse the rows.

    Returns:
        The scores, float64 (rows, K), at the receivers; None elsewhere. K is 1 for two classes and for a regression,
        whose scores are in units of its target, else the number of classes.

    Raises:
        InputError: There is no row, or columns differ from the part's columns, or hold NaN or infinity.
        ProtocolError: parties come with parts of different models, or with different rows or receivers.
        BoundError: a score is beyond the range of the fixed point.
        PolicyError: more rows than may be predicted with this part (`run.count_predictions`).
    """
    check_part(channel.party, part, settings)
    rows = _arrange(part, table)
    run.count_predictions(len(rows))
    _agree(channel, part, len(rows), settings)
    if part.form == "shared_weights":
        return apply_calibration(_predict_on_shares(channel, part, rows, settings, run), part, settings)
    with run.stopwatch.measure("plain"):
        own = to_words(_own_scores(part, rows), settings.told_bits(part), len(settings.parties))
    if channel.party == settings.summing_party:
        return apply_calibration(_sum_parts(channel, part, own, settings), part, settings)
    _send_part(channel, part, own, settings)
    if channel.party not in settings.receivers:
        return None
    _note_what_two_learn(channel, settings)
    scores = _checked(channel.receive(settings.summing_party, SCORES_STEP, ScoresMessage).scores, own.shape)
    return apply_calibration(scores, part, settings)


def _predict_on_shares(
    channel: RecordedChannel, part: ModelPart, rows: Table, settings: PredictionSettings, run: PartyRun
) -> FloatArray | None:
    # Imported here, one of the two: a prediction is a process of its own, and short.
    if part.quiet_parties:
        from hekat.protocol.vertical_linear.prediction.predict_among_many import predict_among_many

        return predict_among_many(channel, part, rows, settings, run)
    from hekat.protocol.vertical_linear.prediction.predict_on_shares import predict_on_shares

    return predict_on_shares(channel, part, rows, settings, run)


def _arrange(part: ModelPart, table: Table) -> Table:
    """Bring the columns of `table` into the order of the part. Raises InputError."""
    rows = arrange_rows(part, table)
    check_finite(rows)
    return rows


def _agree(channel: RecordedChannel, part: ModelPart, row_count: int, settings: PredictionSettings) -> None:
    """Make sure that all parties have parts of one model, as many rows, and the same settings. Raises ProtocolError."""
    receivers = list(settings.receivers)
    if channel.party == settings.guest:
        for host in settings.hosts:
            call = PredictionCallMessage(part.model_id, row_count, receivers, settings.score_bits)
            channel.send(host, CALL_STEP, call)
        return
    call = channel.receive(settings.guest, CALL_STEP, PredictionCallMessage)
    for what, guests, own in (
        ("another part of the model", call.model_id, part.model_id),
        ("another number of rows", call.row_count, row_count),
        ("other receivers", call.receivers, receivers),
        ("other score_bits", call.score_bits, settings.score_bits),
    ):
        if guests != own:
            raise ProtocolError(
                f"{channel.party} and {settings.guest} come to predict with {what}",
                expected=f"as at {settings.guest}: {guests}",
                got=f"at {channel.party}: {own}",
                cure="use the parts of one training, the same rows in the same order, and one job",
            )


def _own_scores(part: ModelPart, rows: Table) -> FloatArray:
    """This party's part of every score (rows, K); the guest's carries the intercept and the target's mean."""
    weights, offset = _unmixed(np.asarray(part.arrays["weights"], dtype=np.float64), part.arrays.get(MIXING))
    features = rows.features
    if is_dense(features):
        scores = np.asarray(apply_standardiser(features, part.means, part.spreads, part.limit_spreads) @ weights)
    else:
        # Standardised sparse rows would be dense. So all rows get the score of zeros, and stored values the difference.
        zeros = limit_values(-part.means / part.spreads, part.limit_spreads)
        places, differences = features.indices, features.copy()
        standardised = (features.data - part.means[places]) / part.spreads[places]
        differences.data = limit_values(standardised, part.limit_spreads) - zeros[places]
        scores = np.asarray(differences @ weights + zeros @ weights, dtype=np.float64)
    scores = scores + offset
    if part.party == part.guest:
        scores = scores + part.arrays["intercept"] + part.target_mean / part.target_spread
    return scores


def _unmixed(weights: FloatArray, mixing: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Weights of the columns before they are mixed, and what they add to every score, from weights of mixed columns."""
    if mixing is None or mixing.ndim == 1:
        return weights if mixing is None else weights * mixing[:, np.newaxis], np.zeros(weights.shape[1])
    return np.asarray(mixing[:-1] @ weights), np.asarray(mixing[-1] @ weights)


def _send_part(channel: RecordedChannel, part: ModelPart, own: WordArray, settings: PredictionSettings) -> None:
    to = settings.summing_party
    senders = [name for name in settings.parties if name != to]
    send_target_spread(channel, part, to)
    if len(senders) == 1:
        channel.send(to, PARTS_STEP, PartialScoresMessage(own))
    else:
        channel.send(to, PARTS_STEP, MaskedScoresMessage(own + zero_sum_mask(channel, senders, own.shape)))


def _sum_parts(channel: RecordedChannel, part: ModelPart, own: WordArray, settings: PredictionSettings) -> FloatArray:
    senders = [name for name in settings.parties if name != channel.party]
    message_type: type[PartialScoresMessage | MaskedScoresMessage] = (
        PartialScoresMessage if len(senders) == 1 else MaskedScoresMessage
    )
    spread = find_target_spread(channel, part)
    total = own
    for name in senders:
        total = total + _checked(channel.receive(name, PARTS_STEP, message_type).values, own.shape)
    scores = from_words(total, settings.told_bits(part)) * spread
    channel.ledger.note(SCORES_STEP, f"the score of every row, to 2^-{settings.told_bits(part)}", "disclosed")
    _note_what_two_learn(channel, settings)
    for receiver in settings.receivers:
        if receiver != channel.party:
            channel.send(receiver, SCORES_STEP, ScoresMessage(scores))
    return scores


def _note_what_two_learn(channel: RecordedChannel, settings: PredictionSettings) -> None:
    if len(settings.parties) == 2:
        (other,) = (name for name in settings.parties if name != channel.party)
        what = f"the score less this party's own part: the part of {other!r} in every score"
        channel.ledger.note(SCORES_STEP, what, "disclosed")


def _checked(values: npt.NDArray[_Scalar], shape: tuple[int, ...]) -> npt.NDArray[_Scalar]:
    if values.shape != shape:
        raise ProtocolError("scores of other rows came", expected=f"shape {shape}", got=f"shape {values.shape}")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ProtocolError("scores came that are no finite numbers", expected="a number for each row", got="others")
    return values
