"""What one party does in a run of a split network, wherever it runs: it finds common rows, trains, and predicts.

All steps share the channel's session, and so one ledger of the party.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hekat.data import Table
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical.matching import MatchedTable, Matching, Predicted, match_rows, match_training_rows
from hekat.protocol.vertical.phases import PREDICTION, TRAINING
from hekat.protocol.vertical_network.model_part import NetworkPart
from hekat.protocol.vertical_network.party_run import NetworkRun
from hekat.protocol.vertical_network.prediction.predict_scores import predict_scores
from hekat.protocol.vertical_network.prediction.settings import NetworkPredictionSettings
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings


@dataclass(frozen=True)
class Trained:
    """What guest or host is left with."""

    part: NetworkPart
    matched: MatchedTable


def match_and_train(
    channel: RecordedChannel,
    table: Table,
    settings: VerticalNetworkSettings,
    matching: Matching,
    make_run: Callable[[MatchedTable], NetworkRun],
    hold_out: float = 0.0,
) -> Trained:
    """Play a guest or a host to the end of its training.

    Args:
        channel: The party's open session with the others.
        table: The party's own rows, labelled at the guest.
        settings: What all parties agreed on.
        matching: How common rows are found.
        make_run: Called with the common rows before the training begins; it may refuse them by raising.
        hold_out: The fraction of the common rows that take no part in training, beside the rows of early stopping.

    Raises:
        InputError, PolicyError, ProtocolError, BoundError: as the intersection and the roles do.
    """
    # Imported here: a prediction, which is a process of its own, needs none of it.
    from hekat.protocol.vertical_network.roles import run_role

    matched = match_training_rows(channel, table, matching, hold_out, settings.training.seed)
    run = make_run(matched)
    with matching.phases.measure(TRAINING):
        part = run_role(channel, matched.table, settings, run)
    return Trained(part, matched)


def match_and_predict(
    channel: RecordedChannel,
    part: NetworkPart,
    table: Table,
    settings: NetworkPredictionSettings,
    matching: Matching,
    make_run: Callable[[MatchedTable], NetworkRun],
) -> Predicted:
    """Play this party's role in a joint prediction.

    Args:
        channel: The party's open session with the others.
        part: The party's own part of the model.
        table: The rows to predict, with at least the columns of the part.
        settings: What all parties agreed on.
        matching: How common rows are found.
        make_run: Called with the common rows before anything of a score is computed; it may refuse them by raising.

    Raises:
        InputError, PolicyError, ProtocolError: as the intersection and `predict_scores` do.
    """
    matched = match_rows(channel, table, matching)
    run = make_run(matched)
    with matching.phases.measure(PREDICTION):
        scores = predict_scores(channel, part, matched.table, settings, run)
    return Predicted(scores, matched)
