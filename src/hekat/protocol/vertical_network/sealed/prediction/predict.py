"""The role of guest or host in a joint prediction by a sealed network: nothing opens but scores, to their receivers.

1. the guest says which model, how many rows and who receives, with its key; the host refuses others, and sends its own
2. each sends its share of the weights encrypted, once for all blocks of rows
3. each block of rows: shares of units and of their squares summed, as in a batch of the training; masks are anew
4. a party that sends its shares adds its noise of the row; both cut to what is told (`score_shares`)
5. each sends its shares to the other where that one receives, and a receiver adds both

Nobody sees weights, units or the other's columns while both follow the protocol. A receiver that lies multiplies by
other numbers than its shares, and reads what it likes of the other's columns of these rows, or of the weights: no more
than OPENED_BITS bits a row. So each party counts rows against its limit before anything leaves.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from hekat.errors import ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical_network.fixed_point import FEATURE_BITS, FloatArray, IntArray, Rounding
from hekat.protocol.vertical_network.model_part import SEALED_SHARE, NetworkPart
from hekat.protocol.vertical_network.party_run import NetworkRun
from hekat.protocol.vertical_network.prediction.call import call_hosts, hear_guest
from hekat.protocol.vertical_network.prediction.messages import SealedPredictionKeyMessage, SealedScoreShareMessage
from hekat.protocol.vertical_network.prediction.settings import NetworkPredictionSettings
from hekat.protocol.vertical_network.row_plan import blocks_of
from hekat.protocol.vertical_network.run_odds import refuse_odds
from hekat.protocol.vertical_network.sealed.batch import SealedBatch
from hekat.protocol.vertical_network.sealed.cross_products import CrossProducts
from hekat.protocol.vertical_network.sealed.inner_watch import InnerWatch
from hekat.protocol.vertical_network.sealed.make_products import make_products
from hekat.protocol.vertical_network.sealed.own_columns import sealed_columns
from hekat.protocol.vertical_network.sealed.peer import ChannelPeer
from hekat.protocol.vertical_network.sealed.prediction.log_odds import log_odds_of
from hekat.protocol.vertical_network.sealed.prediction.score_shares import (
    OPENED_BITS,
    TOLD_BITS,
    ScoreShare,
    add_noise,
    cut_share,
    open_scores,
)
from hekat.protocol.vertical_network.sealed.run_odds import run_bits
from hekat.protocol.vertical_network.sealed.scales import SealedShape, signs_of
from hekat.protocol.vertical_network.sealed.shared_weights import SharedWeights
from hekat.protocol.vertical_network.steps import PREDICT_STEP, block_step
from hekat.protocol.vertical_network.timing_labels import PLAIN

KEY_STEP: Final = f"{PREDICT_STEP}/key"
SHARE_STEP: Final = f"{PREDICT_STEP}/score-share"
BLOCK_ROWS: Final = 1024


def predict_sealed(
    channel: RecordedChannel,
    part: NetworkPart,
    columns: FloatArray,
    settings: NetworkPredictionSettings,
    run: NetworkRun,
) -> FloatArray | None:
    """At the receivers log-odds (rows, 1) of scores that are off by less than two told units; None elsewhere.

    `columns` (rows, own columns) are prepared as in training, and counted.

    Raises ProtocolError for another model, other rows or receivers, WireError for what the other party cannot have
    sent, BoundError for columns out of range and for too many rows, DivergedError for scores out of range.
    """
    other = part.hosts[0] if part.is_guest else part.guest
    is_sent = other in settings.receivers
    _check_odds(part, len(columns))
    watch = InnerWatch(run.stopwatch)
    products = make_products(part.protection, watch)
    _meet(channel, part, len(columns), settings, products)
    _note_what_opens(channel, part, len(columns), settings)
    with watch.measure(PLAIN):
        own = _share_scores(channel, part, _own_integers(part, columns, run), products, watch, is_sent=is_sent)
    if is_sent:
        channel.send(other, SHARE_STEP, SealedScoreShareMessage(own))
    if channel.party not in settings.receivers:
        return None
    share = channel.receive(other, SHARE_STEP, SealedScoreShareMessage).share
    if share.shape != own.shape or share.dtype != np.uint64 or (share >> np.uint64(OPENED_BITS)).any():
        raise ProtocolError(
            f"{other} sent no shares of these scores",
            expected=f"numbers below 2^{OPENED_BITS}, shape {own.shape}",
            got=f"shape {share.shape}, or larger numbers",
            cure="all parties must run the same job and release",
        )
    return log_odds_of(open_scores(own, share))[:, np.newaxis]


def _meet(
    channel: RecordedChannel,
    part: NetworkPart,
    row_count: int,
    settings: NetworkPredictionSettings,
    products: CrossProducts,
) -> None:
    """Both keys, of parties with parts of one model and as many rows."""
    if part.is_guest:
        call_hosts(channel, part, row_count, settings, products.public_key)
        host = part.hosts[0]
        products.meet(host, channel.receive(host, KEY_STEP, SealedPredictionKeyMessage).public_key)
    else:
        products.meet(part.guest, hear_guest(channel, part, row_count, settings))
        channel.send(part.guest, KEY_STEP, SealedPredictionKeyMessage(products.public_key))


def _own_integers(part: NetworkPart, columns: FloatArray, run: NetworkRun) -> IntArray:
    cure = "look for rows unlike the ones of training"
    rounding = Rounding(f"columns of {part.party}", FEATURE_BITS, cure, run.warn)
    integers = sealed_columns(columns, rounding, is_guest=part.is_guest)
    rounding.end_epoch()
    return integers


def _share_scores(
    channel: RecordedChannel,
    part: NetworkPart,
    columns: IntArray,
    products: CrossProducts,
    watch: InnerWatch,
    *,
    is_sent: bool,
) -> ScoreShare:
    """The own shares of all scores, cut; with noise where they are sent."""
    other = part.hosts[0] if part.is_guest else part.guest
    secret = part.arrays[SEALED_SHARE]
    # Pads of this session, which no training and no other prediction has.
    weights = SharedWeights(channel.session_id.hex(), secret, is_guest=part.is_guest)
    used = weights.begin_step(PREDICT_STEP)
    found: list[ScoreShare] = []
    blocks, met = blocks_of(len(columns), BLOCK_ROWS), None
    for number, block in enumerate(blocks):
        step, rows = block_step(PREDICT_STEP, number), columns[block]
        cut = weights.modular_of(step)
        peer = ChannelPeer(channel, other, part.protection, step, watch)
        batch = SealedBatch(peer, products, shape_of(part, len(rows)), rows, cut, is_guest=part.is_guest)
        # The first block is the largest.
        met = batch.meet_weights(used, len(blocks)) if met is None else met
        scores = batch.scores(batch.forward(used, met))
        if is_sent:
            scores = add_noise(scores, rows, secret)
        found.append(cut_share(scores, cut))
    return np.concatenate(found)


def shape_of(part: NetworkPart, row_count: int) -> SealedShape:
    """The sizes of a block of so many rows by the part's network."""
    widths = part.widths[part.guest], part.widths[part.hosts[0]]
    return SealedShape(row_count, *widths, signs_of(part.network.units))


def _check_odds(part: NetworkPart, row_count: int) -> None:
    """Raise BoundError where any number of the prediction goes astray with odds above 2^-LEAST_RUN_BITS."""
    blocks = len(blocks_of(row_count, BLOCK_ROWS))
    bits = run_bits(shape_of(part, BLOCK_ROWS), blocks, 0)
    cure = "predict them in several predictions"
    refuse_odds(bits, "a number in shares", "prediction", f"for {row_count:,} rows", cure)


def _note_what_opens(
    channel: RecordedChannel, part: NetworkPart, row_count: int, settings: NetworkPredictionSettings
) -> None:
    for receiver in settings.receivers:
        width = part.widths[receiver] + (receiver != part.guest)
        channel.ledger.note(
            PREDICT_STEP,
            f"{receiver} learns scores of {row_count:,} rows to 2^-{TOLD_BITS}, {OPENED_BITS} bits each; by "
            f"{width * (width + 1) // 2:,} scores of columns that it makes up it knows the model of its own columns",
            "disclosed",
        )
