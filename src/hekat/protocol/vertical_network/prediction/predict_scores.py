"""Joint prediction with the parts of a split network.

The guest sends its addend of each host's weights encrypted, once; for each block of rows hosts answer with their
features, and the outputs of all hosts together open to the guest, which runs its top. So each host's features show, but
for a rotation, as in training: each host counts the rows against its limit. Of a sealed network scores alone open
(`sealed.prediction`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hekat.data import Table, check_finite
from hekat.data.features import to_dense
from hekat.errors import ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical.predicted_rows import arrange_rows, check_part
from hekat.protocol.vertical_network.arithmetic.make import make_arithmetic
from hekat.protocol.vertical_network.fixed_point import FEATURE_BITS, FloatArray, Rounding
from hekat.protocol.vertical_network.guest_side.layer import GuestLayer
from hekat.protocol.vertical_network.guest_side.own_network import OwnNetwork
from hekat.protocol.vertical_network.host_masks import agree_on_masks
from hekat.protocol.vertical_network.host_side.layer import HostLayer
from hekat.protocol.vertical_network.layer_exchange import LayerExchange
from hekat.protocol.vertical_network.model_part import MEANS, SPREADS, TARGET_MEAN, TARGET_SPREAD, NetworkPart
from hekat.protocol.vertical_network.own_features import standardised
from hekat.protocol.vertical_network.party_run import NetworkRun
from hekat.protocol.vertical_network.prediction.call import call_hosts, hear_guest
from hekat.protocol.vertical_network.prediction.kept_bottom import restore_bottom
from hekat.protocol.vertical_network.prediction.kept_top import restore_top
from hekat.protocol.vertical_network.prediction.messages import NetworkScoresMessage
from hekat.protocol.vertical_network.prediction.settings import NetworkPredictionSettings
from hekat.protocol.vertical_network.row_plan import blocks_of
from hekat.protocol.vertical_network.settings import SEALED
from hekat.protocol.vertical_network.shared_addend import SharedAddend
from hekat.protocol.vertical_network.steps import PREDICT_STEP
from hekat.protocol.vertical_network.timing_labels import NETWORK

SCORES_STEP = f"{PREDICT_STEP}/scores"
BLOCK_ROWS = 1024


def predict_scores(
    channel: RecordedChannel, part: NetworkPart, table: Table, settings: NetworkPredictionSettings, run: NetworkRun
) -> FloatArray | None:
    """Play this party's role in a joint prediction of the rows of `table`, which all parties have in the same order.

    Args:
        channel: The party's open session with the others.
        part: The party's own part of the model.
        table: The rows to predict, with at least the columns of the part.
        settings: What all parties agreed on.
        run: What the machine gives the role; `run.count_predictions` may refuse the rows.

    Returns:
        The outputs of the top, float64 (rows, K), at the receivers; None elsewhere. K is 1 for two classes (the logit
        of the second) and for a regression (the number), else the number of classes (logits). A sealed network's
        scores open to 2^-12, and logits follow from them (`sealed.prediction.log_odds`).

    Raises:
        JobError: A host would receive scores of labels as they are, and the part does not say that it may.
        InputError: There is no row, or columns differ from the part's columns, or hold NaN or infinity.
        ProtocolError: parties come with parts of different models, or with different rows or receivers.
        PolicyError: more rows than may be predicted with this part (`run.count_predictions`).
    """
    check_part(channel.party, part, settings)
    settings.check_told_hosts(part.label_privacy, labels_accepted=part.labels_accepted)
    rows = arrange_rows(part, table)
    rows = replace(rows, features=to_dense(rows.features, rows.name))
    check_finite(rows)
    columns = standardised(rows, part.arrays[MEANS], part.arrays[SPREADS], part.limit_spreads)
    run.count_predictions(len(rows))
    if part.form == SEALED:
        # Imported here: a prediction by another form, which is a process of its own, needs none of it.
        from hekat.protocol.vertical_network.sealed.prediction.predict import predict_sealed

        return predict_sealed(channel, part, columns, settings, run)
    arithmetic = make_arithmetic(part.protection, run.stopwatch)
    widths = {host: part.widths[host] for host in part.hosts}
    exchange = LayerExchange(channel, part.protection, arithmetic, part.network.units, widths, run.stopwatch)
    if part.is_guest:
        scores = _predict_as_guest(exchange, part, columns, settings, run)
        for receiver in settings.receivers:
            if receiver != part.guest:
                channel.send(receiver, SCORES_STEP, NetworkScoresMessage(scores))
        return scores
    _predict_as_host(exchange, part, columns, settings, run)
    if channel.party not in settings.receivers:
        return None
    scores = channel.receive(part.guest, SCORES_STEP, NetworkScoresMessage).scores
    if scores.shape != (len(rows), part.output_count) or not np.isfinite(scores).all():
        raise ProtocolError(
            f"{part.guest} sent scores that cannot be",
            expected=f"finite numbers, shape {(len(rows), part.output_count)}",
            got=f"shape {scores.shape}",
        )
    return scores


def _predict_as_guest(
    exchange: LayerExchange,
    part: NetworkPart,
    columns: FloatArray,
    settings: NetworkPredictionSettings,
    run: NetworkRun,
) -> FloatArray:
    network = restore_network(part, run)
    call_hosts(exchange.channel, part, len(columns), settings, exchange.arithmetic.public_key)
    layer = GuestLayer(exchange, {host: _addend(part, host) for host in part.hosts}, kept_uses=0)
    blocks = blocks_of(len(columns), BLOCK_ROWS)
    found = []
    opened = layer.outputs(PREDICT_STEP, [len(columns[block]) for block in blocks])
    for block, hosts in zip(blocks, opened, strict=True):
        with exchange.measure(NETWORK):
            found.append(network.evaluate(columns[block], hosts))
    mean, spread = float(part.arrays[TARGET_MEAN]), float(part.arrays[TARGET_SPREAD])
    return np.ascontiguousarray(np.concatenate(found) * spread + mean)


def restore_network(part: NetworkPart, run: NetworkRun) -> OwnNetwork:
    """The guest's own network, from its part."""
    network = OwnNetwork(
        restore_bottom(part, run.make_bottom),
        restore_top(part, run.make_top),
        None if part.classes is None else len(part.classes),
        units=part.network.units,
        learning_rate=1.0,
        l2=0.0,
        seed=0,
        input_count=1,
    )
    network.begin_from(part.arrays)
    return network


def _predict_as_host(
    exchange: LayerExchange,
    part: NetworkPart,
    columns: FloatArray,
    settings: NetworkPredictionSettings,
    run: NetworkRun,
) -> None:
    channel = exchange.channel
    exchange.arithmetic.meet(part.guest, hear_guest(channel, part, len(columns), settings))
    masks = agree_on_masks(channel, part.hosts)
    layer = HostLayer(exchange, part.guest, _addend(part, channel.party), masks, kept_uses=0)
    bottom = restore_bottom(part, run.make_bottom)
    assert bottom is not None
    rounding = Rounding(
        f"features of {channel.party}", FEATURE_BITS, "look for rows unlike the ones of training", run.warn
    )
    with exchange.measure(NETWORK):
        features = [rounding.round(bottom.evaluate(columns[block])) for block in blocks_of(len(columns), BLOCK_ROWS)]
    rounding.end_epoch()
    layer.outputs(PREDICT_STEP, features)


def _addend(part: NetworkPart, host: str) -> SharedAddend:
    shares = np.zeros((part.widths[host], part.network.units, 2), np.uint64)
    addend = SharedAddend(part.model_id, host, shares, is_guest=part.is_guest)
    addend.begin_from(part.arrays)
    return addend
