"""What guest and host do alike: prepare columns, meet, compute gradients in shares, and move the weights.

    1. each party tells the other its public key and how many columns it has
    2. each batch: both compute shares of the gradient of all columns, by the Gram matrix (`gram`) or by residuals
       (`residuals`), and make a step of the optimiser on shares
    3. each epoch: the guest opens the mean loss, and nothing else, and says whether to go on

Source: Mohassel and Zhang 2017 (SecureML), section 4, for training on shares and their truncation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.errors import BoundError
from hekat.ledger import RecordedChannel
from hekat.protocol.shares.share_array import ShareArray
from hekat.protocol.vertical.batches import draw_batches
from hekat.protocol.vertical.columns import describe_limited
from hekat.protocol.vertical_linear.columns import Targets, may_lack_columns, prepare_training_columns
from hekat.protocol.vertical_linear.loss_bits import LOSS_BITS, describe_told_loss, told_loss_bits
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.party_run import PartState, PartyRun
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.shared_weights.cross_products.slots import check_result_count
from hekat.protocol.vertical_linear.shared_weights.factors import check_last_factors
from hekat.protocol.vertical_linear.shared_weights.gram import GramGradients, column_layout
from hekat.protocol.vertical_linear.shared_weights.handshake import OwnSide, meet, name_sharing
from hekat.protocol.vertical_linear.shared_weights.own_columns import OwnColumns, encode_own_features, encode_targets
from hekat.protocol.vertical_linear.shared_weights.pair import Pair
from hekat.protocol.vertical_linear.shared_weights.residuals import ResidualGradients, score_layouts
from hekat.protocol.vertical_linear.shared_weights.scales import TRUNCATED_BITS, Scales
from hekat.protocol.vertical_linear.shared_weights.share_exactness import deposit_shares, note_allowance
from hekat.protocol.vertical_linear.shared_weights.weights import SharedWeights
from hekat.protocol.vertical_linear.steps import batch_step, epoch_step
from hekat.protocol.vertical_linear.timing_labels import PLAIN
from hekat.protocol.vertical_linear.trained_part import make_trained_part, mixing_array

SHARING = "sharing"
WARM_START = b"parts of an earlier model"
KEPT_PRODUCTS = "gradients by products of columns, kept in shares"
# Microseconds on two cores: an encryption, an opening, a term of 20 bits and one of 128. Only their ratio matters.
_ENCRYPT, _OPEN, _TERM, _WIDE_TERM = 55.0, 450.0, 2.4, 22.0


class Gradients(Protocol):
    """Computes a batch's gradient and an epoch's mean square of residuals in shares."""

    def gradient(self, step: str, number: int, weights: ShareArray) -> ShareArray: ...

    def mean_square(self, step: str) -> ShareArray: ...

    def error_bound(self) -> float: ...


@dataclass
class PartyTraining:
    """What every party's side of a training has, whether it holds shares or not."""

    channel: RecordedChannel
    settings: VerticalLinearSettings
    run: PartyRun
    own: OwnColumns

    @property
    def epochs_done(self) -> int:
        """How many epochs the resumed run had done."""
        return self.run.epochs_done

    @property
    def told_loss_bits(self) -> int:
        """How finely the guest learns an epoch's loss."""
        return told_loss_bits(self.own.row_count, self.settings.training.epochs)

    @property
    def finished(self) -> bool:
        """Whether the resumed run had ended already."""
        return self.run.had_ended(self.settings.training.epochs)

    def make_part(self, arrays: Mapping[str, npt.NDArray[Any]], targets: Targets | None) -> ModelPart:
        """This party's part of the trained model, with these arrays."""
        return make_trained_part(
            self.channel.party,
            self.settings,
            self.channel.session_id,
            self.own.column_names,
            self.own.columns,
            arrays,
            targets,
        )


@dataclass
class SharedTraining(PartyTraining):
    """The side of a party that holds shares, from the handshake to its part of the model."""

    pair: Pair
    weights: SharedWeights
    gradients: Gradients
    owners: Mapping[str, slice]
    """Whose columns stand where among the weights."""

    epoch_wait_s = None
    known_square = 0.0
    holds_shares = True

    def play_batches(self, epoch: int) -> ShareArray:
        """Play all steps of an epoch; returns this party's share of the mean of d^2, at 2^-told_loss_bits."""
        for number, rows in enumerate(self.own.batches):
            step = batch_step(epoch, number)
            gradient = self.gradients.gradient(step, number, self.weights.weights)
            self._check_exactness(step, rows, gradient)
            with self.run.stopwatch.measure(PLAIN):
                self.weights.move(gradient, len(rows))
        mean_square = self.gradients.mean_square(epoch_step(epoch))
        return self.pair.truncation.rescale(mean_square, LOSS_BITS, self.told_loss_bits)

    def state(self, epoch: int, *, finished: bool, losses: tuple[float, ...] = ()) -> PartState:
        """What this party resumes from."""
        sharing = name_sharing(self.channel.session_id, epoch)
        arrays = {**self.weights.state_arrays(), SHARING: sharing, **mixing_array(self.own.columns)}
        return PartState(arrays, epoch, finished, losses)

    def model_part(self, targets: Targets | None) -> ModelPart:
        """This party's part of the trained model."""
        return self.make_part(self.weights.model_arrays(), targets)

    def error_bound(self) -> float:
        """How far any entry of a mean gradient of this party's columns is off."""
        return self.gradients.error_bound()

    def _check_exactness(self, step: str, rows: npt.NDArray[np.int64], gradient: ShareArray) -> None:
        if self.run.exactness_check is not None:
            shares = (self.weights.weights, gradient)
            deposit_shares(self.run.exactness_check, step, rows, self.pair.scales, self.owners, shares)


def begin_training(
    channel: RecordedChannel, table: Table, settings: VerticalLinearSettings, run: PartyRun, targets: Targets | None
) -> SharedTraining:
    """Prepare this party's columns, meet the other party, and choose how gradients are computed.

    `targets` are the guest's. Raises InputError for columns that cannot be used, BoundError for scales that leave no
    room and for more results than may be opened, JobError for a decay that makes a factor too small over so many steps,
    and ProtocolError and KeyRefusedError as `meet` does.
    """
    scales = Scales(settings.fixed_point, settings.task)
    own, side = prepare(channel, table, settings, run, targets, scales)
    pair, sparse = meet(channel, side, scales, settings.column_count, run.stopwatch)
    check_result_count(count_results(pair, own.batches, settings.training.epochs))
    weights = begin_weights(pair, settings, run, len(own.batches))
    gradients = _choose_gradients(channel, pair, own, sparse, settings.training.epochs)
    begin_check(run, own, targets, gradients.error_bound())
    owners = {settings.guest: pair.guest_range, settings.hosts[0]: pair.host_range}
    return SharedTraining(channel, settings, run, own, pair, weights, gradients, owners)


def prepare(
    channel: RecordedChannel,
    table: Table,
    settings: VerticalLinearSettings,
    run: PartyRun,
    targets: Targets | None,
    scales: Scales,
) -> tuple[OwnColumns, OwnSide]:
    """This party's columns as integers, and what it brings to the handshake; notes in the ledger what will be told."""
    with run.stopwatch.measure(PLAIN):
        own = _prepare_own(channel.party, table, settings, scales, targets, run)
        scales.check(own.row_count, max(len(rows) for rows in own.batches))
        check_last_factors(settings.training, len(own.batches))
    if settings.limit_spreads:
        channel.ledger.note("setup", describe_limited(own.columns, settings.limit_spreads), "public")
    channel.ledger.note("setup", describe_told_loss(own.row_count, settings.training.epochs), "disclosed")
    return own, OwnSide(
        is_guest=targets is not None,
        peer=settings.hosts[0] if targets is not None else settings.guest,
        row_count=own.row_count,
        column_count=own.column_count,
        sparse=own.sparse,
        key_bits=settings.key_bits,
        protection=settings.protection,
        key_pair=run.key_pair,
        epochs_done=run.epochs_done,
        sharing=_begun_from(run),
    )


def begin_weights(pair: Pair, settings: VerticalLinearSettings, run: PartyRun, batch_count: int) -> SharedWeights:
    """A holder's shares of the weights: the resumed state, an earlier model, or zeros."""
    weights, resumed = SharedWeights(pair, settings.training), run.resume_from
    if resumed is not None:
        weights.begin_from_state(resumed.arrays, resumed.epochs_done * batch_count)
    elif run.start_from is not None:
        weights.begin_from_model(run.start_from)
    return weights


def begin_check(run: PartyRun, own: OwnColumns, targets: Targets | None, error_bound: float) -> None:
    """Show the run's exactness check, where there is one, this party's columns and how far its gradients may be off."""
    if run.exactness_check is not None:
        note_allowance(run.exactness_check, own.party, error_bound)
        run.exactness_check.begin(own.party, own.columns.features, None if targets is None else targets.values)


def _begun_from(run: PartyRun) -> bytes:
    """The name of what both parties must begin from alike: a state of one run and epoch, parts of a model, or
    nothing."""
    if run.resume_from is not None:
        found = run.resume_from.arrays.get(SHARING)
        return b"a state of another form" if found is None else np.asarray(found, np.uint64).tobytes()
    return b"" if run.start_from is None else WARM_START


def _prepare_own(
    party: str, table: Table, settings: VerticalLinearSettings, scales: Scales, targets: Targets | None, run: PartyRun
) -> OwnColumns:
    batches = draw_batches(len(table), settings.training.batch_rows, settings.training.seed)
    may_be_empty = may_lack_columns(settings, party)
    columns = prepare_training_columns(table, settings, batches, run.begins_with, may_be_empty=may_be_empty)
    return OwnColumns(
        party=party,
        column_names=table.feature_names,
        columns=columns,
        integers=encode_own_features(columns.features, scales, party),
        targets=None if targets is None else encode_targets(targets, scales, party),
        batches=batches,
    )


def _choose_gradients(
    channel: RecordedChannel, pair: Pair, own: OwnColumns, sparse: bool, epoch_count: int
) -> Gradients:
    """Choose the Gram matrix where it fits and costs less over all epochs, which public counts alone decide."""
    # A guest without columns has nothing to multiply scores with.
    if not pair.guest_columns or (not sparse and prefers_gram(pair, own.batches, epoch_count)):
        channel.ledger.note("setup", KEPT_PRODUCTS, "public")
        check_gram_room(pair.scales, own.batches)
        return GramGradients(pair, own.dense_integers(), own.targets, own.batches)
    channel.ledger.note("setup", "gradients by residuals, in shares", "public")
    return ResidualGradients(pair, own.integers, own.targets, own.batches)


def check_gram_room(scales: Scales, batches: Sequence[npt.NDArray[np.int64]]) -> None:
    """Raise BoundError where gradients by kept products leave no room in the ring for safe truncation."""
    found = scales.gram_gradient_bits(max(len(batch) for batch in batches))
    if found > TRUNCATED_BITS:
        raise BoundError(
            "gradients by products of columns do not fit into 128 bits at these scales",
            expected=f"at most {TRUNCATED_BITS} bits",
            got=f"{found} bits",
            cure="choose smaller fixed_point.feature_bits or value_bits, or a smaller training.batch_rows",
        )


def prefers_gram(pair: Pair, batches: Sequence[npt.NDArray[np.int64]], epoch_count: int) -> bool:
    """Whether the Gram matrix fits into the ring at these scales, and saves time over `epoch_count` epochs."""
    rows = max(len(batch) for batch in batches)
    if pair.scales.gram_gradient_bits(rows) > TRUNCATED_BITS:
        return False
    targets, columns = pair.target_count, pair.guest_columns + pair.host_columns
    groups = -(-pair.host_columns // column_layout(pair, rows).slot_count)
    scores_of_row = sum(1.0 / layout.slot_count for layout in score_layouts(pair, rows))
    once = rows * groups * (_ENCRYPT + pair.guest_columns * _TERM)
    kept = targets * (4 * pair.guest_columns * pair.host_columns * _WIDE_TERM + 2 * pair.size * (_ENCRYPT + _OPEN))
    residual = targets * rows * (2 * _ENCRYPT + 2 * columns * _TERM + scores_of_row * _OPEN)
    return once + epoch_count * kept < epoch_count * residual


def count_results(pair: Pair, batches: Sequence[npt.NDArray[np.int64]], epoch_count: int) -> int:
    """How many results both parties open at most, however gradients are computed."""
    rows = sum(len(batch) for batch in batches)
    by_step = 2 * pair.target_count * (pair.size + 1)  # shares of the gradient, and of the loss
    by_epoch = 2 * pair.target_count * rows + by_step * len(batches)
    kept = (1 + pair.guest_columns + pair.target_count) * pair.host_columns * len(batches)
    return epoch_count * by_epoch + kept
