"""Joint prediction: the parties of one model compute scores of common rows, and only the receivers learn them.

With weights that each party holds of its own columns (form `arbiter`):

1. the guest tells everybody which model, how many rows and who receives; who holds another model, another number of
   rows or another job refuses
2. one receiver sums: the guest if it receives, else the first receiver. Every other party computes its part of each
   score; with two or more of them, every two share a fresh seed, and masks grown from these cancel in the sum
3. they send their parts, masked, to the receiver that sums; of a linear regression the guest's part carries the mean of
   the target, and a host that sums is told its spread
4. it adds them to its own part and passes the scores on to the other receivers

With one other party there is nothing to hide behind: the score less one's own part is the other's. Shares of weights
(form `shared_weights`) are used by `shared_weights.predict`, where both parties' parts stay hidden.

Scores are told to 2^-score_bits alone. Here each party rounds its own part, always in the same way: asked again, it
says nothing finer, and no receiver sees what was rounded away. Shares get noise that a row always gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from hekat.data import Table, arrange_columns, check_finite, describe_schema_difference, is_dense
from hekat.errors import InputError, JobError, ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical_linear.columns import apply_standardiser, limit_values
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.party_run import PartyRun
from hekat.protocol.vertical_linear.prediction.masks import from_words, to_words, zero_sum_mask
from hekat.protocol.vertical_linear.prediction.messages import (
    MaskedScoresMessage,
    PartialScoresMessage,
    PredictionCallMessage,
    ScoresMessage,
    TargetSpreadMessage,
)

FloatArray = npt.NDArray[np.float64]
WordArray = npt.NDArray[np.uint64]
_Scalar = TypeVar("_Scalar", np.float64, np.uint64)

SCORE_BITS = 12
"""Scores are told to 2^-12 unless the job says otherwise: of two parties a probability so is off by at most 2^-13."""
MAX_PREDICTIONS = 100_000
"""So many rows are predicted with one part of a model unless its site says otherwise: enough for most test tables. What
scores tell adds up, and no number of them is known to be safe: a site raises it on purpose, not by accident."""
LEAST_SCORE_BITS, MOST_SCORE_BITS = 1, 40

CALL_STEP = "predict/call"
SPREAD_STEP = "predict/spread"
PARTS_STEP = "predict/parts"
SCORES_STEP = "predict/scores"


@dataclass(frozen=True)
class PredictionSettings:
    """Who predicts together, and who learns the scores: `receivers`, of the guest and the hosts; to 2^-score_bits, of a
    regression in spreads of its target. Raises JobError."""

    guest: str
    hosts: tuple[str, ...]
    receivers: tuple[str, ...]
    score_bits: int = SCORE_BITS

    def __post_init__(self) -> None:
        object.__setattr__(self, "hosts", tuple(self.hosts))
        object.__setattr__(self, "receivers", _as_names(self.receivers))
        known = set(self.receivers) <= set(self.parties)
        if not self.receivers or not known or len(set(self.receivers)) != len(self.receivers):
            raise JobError(
                "receivers of a prediction refused",
                expected=f"one or more of {', '.join(self.parties)}, each once",
                got=", ".join(map(str, self.receivers)) or "nobody",
                cure="name parties that hold a part of the model",
            )
        bits = self.score_bits
        if not isinstance(bits, Integral) or isinstance(bits, bool) or not LEAST_SCORE_BITS <= bits <= MOST_SCORE_BITS:
            raise JobError(
                "score_bits of a prediction refused",
                expected=f"{LEAST_SCORE_BITS} to {MOST_SCORE_BITS}: scores are told to 2^-score_bits",
                got=repr(bits),
                cure=f"leave it at {SCORE_BITS}, or correct it",
            )

    @classmethod
    def of(cls, part: ModelPart, receivers: Sequence[str] = (), score_bits: int = SCORE_BITS) -> PredictionSettings:
        """Those of the parties of `part`'s model; the guest receives unless others are named."""
        return cls.between(part.guest, part.hosts, receivers, score_bits)

    @classmethod
    def between(
        cls, guest: str, hosts: tuple[str, ...], receivers: Sequence[str] = (), score_bits: int = SCORE_BITS
    ) -> PredictionSettings:
        """Those of named parties; the guest receives unless others are named."""
        return cls(guest, hosts, _as_names(receivers) or (guest,), score_bits)

    @property
    def parties(self) -> tuple[str, ...]:
        return (self.guest, *self.hosts)

    def told_bits(self, part: ModelPart) -> int:
        """Scores of `part`'s model are told to 2^-told_bits: no finer than they are computed."""
        return min(self.score_bits, part.value_bits)

    @property
    def summing_party(self) -> str:
        """The receiver that adds the parts up and passes the scores on."""
        return self.guest if self.guest in self.receivers else self.receivers[0]


def _as_names(receivers: Sequence[str]) -> tuple[str, ...]:
    """Raises JobError for a bare text, which would be read as a name for each letter."""
    if isinstance(receivers, str):
        raise JobError(
            "receivers of a prediction refused",
            expected=f"a list or tuple of names, such as [{receivers!r}]",
            got=f"the text {receivers!r}",
            cure="put it in brackets, however few they are",
        )
    return tuple(receivers)


def predict_scores(
    channel: RecordedChannel, part: ModelPart, table: Table, settings: PredictionSettings, run: PartyRun
) -> FloatArray | None:
    """The scores (rows, K) float64 at the receivers, None elsewhere; `table` holds the common rows in common order.

    K is 1 for two classes and for a regression, whose scores are in units of its target; else the number of classes.
    In form `arbiter` a score is off by at most half a unit of 2^-score_bits a party, in form `shared_weights` by less
    than one and a half, of two receivers by less than two, and one of 2^-value_bits (times the target's spread).

    Raises:
        InputError: there is no row, or the columns are not those of the part, or hold what is no number.
        ProtocolError: parties come with parts of different models, or with different rows or receivers.
        BoundError: a score beyond the range of the fixed point.
        PolicyError: more rows than the site lets be predicted with this part (`run.count_predictions`).
    """
    _check_part(channel.party, part, settings)
    rows = _arrange(part, table)
    run.count_predictions(len(rows))
    _agree(channel, part, len(rows), settings)
    if part.form == "shared_weights":
        from hekat.protocol.vertical_linear.prediction.predict_on_shares import predict_on_shares

        return predict_on_shares(channel, part, rows, settings, run)
    with run.stopwatch.measure("plain"):
        own = to_words(_own_scores(part, rows), settings.told_bits(part), len(settings.parties))
    if channel.party == settings.summing_party:
        return _sum_parts(channel, part, own, settings)
    _send_part(channel, part, own, settings)
    if channel.party not in settings.receivers:
        return None
    _note_what_two_learn(channel, settings)
    scores = _checked(channel.receive(settings.summing_party, SCORES_STEP, ScoresMessage).scores, own.shape)
    return scores


def _check_part(party: str, part: ModelPart, settings: PredictionSettings) -> None:
    if part.party != party:
        raise InputError("a part of another party", expected=f"the part of {party!r}", got=f"that of {part.party!r}")
    if (part.guest, part.hosts) != (settings.guest, settings.hosts):
        raise InputError(
            "a model of other parties",
            expected=", ".join(settings.parties),
            got=", ".join((part.guest, *part.hosts)),
            cure="predict with the guest and the hosts that trained the model",
        )


def _arrange(part: ModelPart, table: Table) -> Table:
    """`table` with its columns in the order of the part. Raises InputError."""
    rows = arrange_columns(table, part.columns)
    difference = describe_schema_difference(part.columns, rows.feature_names)
    if difference:
        raise InputError(
            f"{table.name} has other columns than {part.party} trained with",
            expected=f"{len(part.columns)} columns, found by their names",
            got=difference,
            cure="bring the table into the columns of training, or ignore columns in the site file",
        )
    check_finite(rows)
    if not len(rows):
        raise InputError(f"{table.name} has no rows to predict", expected="at least one row", got="none")
    return rows


def _agree(channel: RecordedChannel, part: ModelPart, row_count: int, settings: PredictionSettings) -> None:
    """All hold parts of one model, as many rows, and the same settings. Raises ProtocolError at who differs."""
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
    weights = np.asarray(part.arrays["weights"], dtype=np.float64)
    features = rows.features
    if is_dense(features):
        scores = np.asarray(apply_standardiser(features, part.means, part.spreads, part.limit_spreads) @ weights)
    else:
        # Standardised sparse rows would be dense: what a zero becomes is added to all rows, and taken off the others.
        zeros = limit_values(-part.means / part.spreads, part.limit_spreads)
        places, differences = features.indices, features.copy()
        standardised = (features.data - part.means[places]) / part.spreads[places]
        differences.data = limit_values(standardised, part.limit_spreads) - zeros[places]
        scores = np.asarray(differences @ weights + zeros @ weights, dtype=np.float64)
    if part.party == part.guest:
        scores = scores + part.arrays["intercept"] + part.target_mean / part.target_spread
    return scores


def _send_part(channel: RecordedChannel, part: ModelPart, own: WordArray, settings: PredictionSettings) -> None:
    to = settings.summing_party
    senders = [name for name in settings.parties if name != to]
    if part.task == "linear" and channel.party == settings.guest:
        channel.send(to, SPREAD_STEP, TargetSpreadMessage(part.target_spread))
    if len(senders) == 1:
        channel.send(to, PARTS_STEP, PartialScoresMessage(own))
    else:
        channel.send(to, PARTS_STEP, MaskedScoresMessage(own + zero_sum_mask(channel, senders, own.shape)))


def _sum_parts(channel: RecordedChannel, part: ModelPart, own: WordArray, settings: PredictionSettings) -> FloatArray:
    senders = [name for name in settings.parties if name != channel.party]
    message_type: type[PartialScoresMessage | MaskedScoresMessage] = (
        PartialScoresMessage if len(senders) == 1 else MaskedScoresMessage
    )
    spread = _target_spread(channel, part, settings)
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


def _target_spread(channel: RecordedChannel, part: ModelPart, settings: PredictionSettings) -> float:
    if part.task != "linear":
        return 1.0
    if channel.party == settings.guest:
        return part.target_spread
    spread = channel.receive(settings.guest, SPREAD_STEP, TargetSpreadMessage).spread
    if not (np.isfinite(spread) and spread > 0):
        raise ProtocolError(f"{settings.guest!r} sent no spread", expected="a finite number above 0", got="another")
    return spread


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
