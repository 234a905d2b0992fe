"""Scores of a host's rows by a model in two shares, told to one receiver; nobody reads the model.

1. the asker says how many rows there are; arbiter and aggregator refuse more than may be scored
2. the arbiter makes a key and encrypts its share of the weights; the aggregator adds its own, and passes them on
3. the asker multiplies by its rows, adds a fresh encryption of zero and masks uniform in the whole ring, which are its
   share of the scores, and sends the products to the arbiter, which opens the other share
4. both cut their shares, and the receiver adds them

A prediction is always under BFV, whatever protected the training: shares are of no scheme.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.errors import ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.encrypted_model.arithmetic.blame import blame
from hekat.protocol.encrypted_model.held_share import HeldShare
from hekat.protocol.encrypted_model.messages import KeyMessage, ShareMessage, WeightsMessage
from hekat.protocol.encrypted_model.party_run import EncryptedModelRun
from hekat.protocol.encrypted_model.prediction.messages import (
    PredictionCallMessage,
    PredictionProductsMessage,
    ScoreShareMessage,
)
from hekat.protocol.encrypted_model.prediction.score_shares import (
    SHARE_BITS,
    ScoreShare,
    add_score_shares,
    cut_arbiter_share,
    cut_asker_share,
    lay_out_scores,
    reduce_share,
    round_rows,
)
from hekat.protocol.encrypted_model.prediction.settings import PredictionSettings
from hekat.protocol.encrypted_model.set_up.facts import ModelFacts
from hekat.protocol.encrypted_model.set_up.host_table import features_of
from hekat.protocol.encrypted_model.timing_labels import DECRYPT, ENCRYPT, KEYS, PRODUCTS, SUM
from hekat.protocol.encrypted_model.transcript import check_same_transcript
from hekat.protocol.shares.share_array import ShareArray
from hekat.scheme.bfv import PublicKey, generate_keys
from hekat.scheme.bfv.shared_products import (
    MatrixLayout,
    add_to_matrix,
    encrypt_matrix,
    multiply_masked,
    open_share,
    prepare_matrix,
)
from hekat.wire import from_bytes, to_bytes
from hekat.wire.shared_products import read_answer, read_matrix, write_answer, write_matrix

FloatArray = npt.NDArray[np.float64]

CALL_STEP = "predict/call"
KEY_STEP = "predict/key"
SHARE_STEP = "predict/share"
WEIGHTS_STEP = "predict/weights"
PRODUCTS_STEP = "predict/products"
SCORES_STEP = "predict/score-share"


def ask_scores(
    channel: RecordedChannel, facts: ModelFacts, table: Table, settings: PredictionSettings, run: EncryptedModelRun
) -> FloatArray | None:
    """The asker's role: the scores (rows, K) of its rows where it is the receiver, else None.

    Raises InputError, BoundError, PolicyError for rows that cannot be scored, before anything leaves.
    """
    training, row_count = settings.training, len(table)
    rows = round_rows(features_of(table, least_rows=1), facts)
    settings.check_rows(row_count, len(facts.columns))
    run.count_predictions(row_count)
    for name in settings.everyone[1:]:
        channel.send(name, CALL_STEP, PredictionCallMessage(row_count))
    with blame(training.arbiter):
        key = from_bytes(channel.receive(training.arbiter, KEY_STEP, KeyMessage).public_key, PublicKey)
    layout = lay_out_scores(row_count, len(facts.columns) + 1, training.target_count)
    weights = channel.receive(training.aggregator, WEIGHTS_STEP, WeightsMessage)
    with run.stopwatch.measure(PRODUCTS), blame(training.aggregator):
        answer, own = multiply_masked(prepare_matrix(rows, layout), read_matrix(weights.values, key, layout))
        products = PredictionProductsMessage(write_answer(answer))
    channel.send(training.arbiter, PRODUCTS_STEP, products)
    share = cut_asker_share(own)
    if settings.receiver_name != channel.party:
        channel.send(settings.receiver_name, SCORES_STEP, ScoreShareMessage(share))
        return None
    return _add_scores(channel, share, facts, settings, row_count)


def receive_scores(channel: RecordedChannel, facts: ModelFacts, settings: PredictionSettings) -> FloatArray:
    """The role of a receiver that is not the asker: the scores (rows, K). Raises ProtocolError, PolicyError."""
    row_count = channel.receive(settings.asker, CALL_STEP, PredictionCallMessage).row_count
    settings.check_rows(row_count, len(facts.columns))
    share = _receive_share(channel, settings.asker, (row_count, settings.training.target_count))
    return _add_scores(channel, share, facts, settings, row_count)


def serve_as_arbiter(
    channel: RecordedChannel, held: HeldShare, settings: PredictionSettings, run: EncryptedModelRun
) -> None:
    """The arbiter's role; `held` is its share at the end of the training. Raises PolicyError for too many rows."""
    training, weights = settings.training, weights_of(held, settings.training.training.uses_velocity)
    row_count = _hear_call(channel, settings, run, len(weights) - 1)
    layout = lay_out_scores(row_count, *weights.shape[:2])
    with run.stopwatch.measure(KEYS):
        pair = generate_keys()
    for name in (settings.asker, training.aggregator):
        channel.send(name, KEY_STEP, KeyMessage(public_key=to_bytes(pair.public), rounds_done=held.rounds_done))
    with run.stopwatch.measure(ENCRYPT):
        encrypted = write_matrix(encrypt_matrix(pair.private, reduce_share(weights), layout))
    channel.send(training.aggregator, SHARE_STEP, ShareMessage(encrypted, held.transcript))
    products = channel.receive(settings.asker, PRODUCTS_STEP, PredictionProductsMessage)
    with run.stopwatch.measure(DECRYPT), blame(settings.asker):
        share = open_share(pair.private, read_answer(products.values, pair.public, layout))
    channel.ledger.note("predict", f"opened masked scores of {row_count:,} rows, mod 2^{SHARE_BITS}", "public")
    channel.send(settings.receiver_name, SCORES_STEP, ScoreShareMessage(cut_arbiter_share(share)))


def serve_as_aggregator(
    channel: RecordedChannel, held: HeldShare, settings: PredictionSettings, run: EncryptedModelRun
) -> None:
    """The aggregator's role; `held` is its share at the end of the training. Raises PolicyError for too many rows."""
    training, weights = settings.training, weights_of(held, settings.training.training.uses_velocity)
    row_count = _hear_call(channel, settings, run, len(weights) - 1)
    layout = lay_out_scores(row_count, *weights.shape[:2])
    key = channel.receive(training.arbiter, KEY_STEP, KeyMessage).public_key
    share = channel.receive(training.arbiter, SHARE_STEP, ShareMessage)
    check_same_transcript(held.transcript, share.transcript, f"{training.arbiter} and {training.aggregator}")
    with run.stopwatch.measure(SUM), blame(training.arbiter):
        completed = _complete(share.values, key, weights, layout)
    channel.send(settings.asker, WEIGHTS_STEP, WeightsMessage(completed))


def weights_of(held: HeldShare, uses_velocity: bool) -> ShareArray:
    """The share of the weights alone (weights, K, 2)."""
    count = len(held.share) // 2 if uses_velocity else len(held.share)
    return np.ascontiguousarray(held.share[:count])


def _complete(share: bytes, key: bytes, own: ShareArray, layout: MatrixLayout) -> bytes:
    encrypted = read_matrix(share, from_bytes(key, PublicKey), layout)
    return write_matrix(add_to_matrix(encrypted, reduce_share(own)))


def _hear_call(
    channel: RecordedChannel, settings: PredictionSettings, run: EncryptedModelRun, column_count: int
) -> int:
    row_count = channel.receive(settings.asker, CALL_STEP, PredictionCallMessage).row_count
    settings.check_rows(row_count, column_count)
    run.count_predictions(row_count)
    return row_count


def _receive_share(channel: RecordedChannel, sender: str, shape: tuple[int, int]) -> ScoreShare:
    share = channel.receive(sender, SCORES_STEP, ScoreShareMessage).share
    if share.shape != shape:
        raise ProtocolError(
            f"{sender!r} sent shares of other scores",
            expected=f"shape {shape}",
            got=f"{share.shape}",
            cure="all roles must run the same job and release",
        )
    return share


def _add_scores(
    channel: RecordedChannel, share: ScoreShare, facts: ModelFacts, settings: PredictionSettings, row_count: int
) -> FloatArray:
    training = settings.training
    other = _receive_share(channel, training.arbiter, (row_count, training.target_count))
    scores = add_score_shares(share, other)
    if training.task == "linear":
        return np.asarray(scores * facts.moments.spreads[-1] + facts.moments.means[-1])
    return scores
