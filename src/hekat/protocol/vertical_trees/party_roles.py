"""What one party does in a run of trees across columns, wherever it runs: it finds common rows, trains, and predicts.

All steps share the channel's session, and so one ledger of the party.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from hekat.data import Table
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical.label_privacy import OwnLabels, replace_labels
from hekat.protocol.vertical.matching import MatchedTable, Matching, Predicted, match_rows, match_training_rows
from hekat.protocol.vertical.phases import PREDICTION, TRAINING
from hekat.protocol.vertical_trees.model_part import TreesPart
from hekat.protocol.vertical_trees.party_run import TreesRun
from hekat.protocol.vertical_trees.prediction.predict_scores import predict_scores
from hekat.protocol.vertical_trees.prediction.settings import TreePredictionSettings
from hekat.protocol.vertical_trees.settings import VerticalTreesSettings


@dataclass(frozen=True)
class Trained:
    """What guest or host is left with."""

    part: TreesPart
    matched: MatchedTable


def match_and_train(
    channel: RecordedChannel,
    table: Table,
    settings: VerticalTreesSettings,
    matching: Matching,
    make_run: Callable[[MatchedTable], TreesRun],
    hold_out: float = 0.0,
    own_labels: OwnLabels | None = None,
) -> Trained:
    """Play a guest or a host to the end of its training.

    Args:
        channel: The party's open session with the others.
        table: The party's own rows, labelled at the guest.
        settings: What all parties agreed on.
        matching: How common rows are found.
        make_run: Called with the common rows before the training begins; it may refuse them by raising.
        hold_out: The fraction of the common rows that no tree sees, beside the rows of early stopping.
        own_labels: What the guest's site keeps of its labels, where the settings have label privacy.

    Raises:
        InputError, PolicyError, ProtocolError, BoundError: as the intersection, `replace_labels` and the roles do.
    """
    # Imported here: a prediction, which is a process of its own, needs none of it.
    from hekat.protocol.vertical_trees.roles import run_role

    matched = match_training_rows(channel, table, matching, hold_out, settings.training.seed)
    if settings.label_privacy is not None and channel.party == settings.guest:
        answered = replace_labels(matched.table, settings, settings.label_privacy, own_labels, channel.ledger)
        matched = replace(matched, table=answered)
    run = make_run(matched)
    with matching.phases.measure(TRAINING):
        part = run_role(channel, matched.table, settings, run)
    return Trained(part, matched)


def match_and_predict(
    channel: RecordedChannel,
    part: TreesPart,
    table: Table,
    settings: TreePredictionSettings,
    matching: Matching,
    make_run: Callable[[MatchedTable], TreesRun],
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
