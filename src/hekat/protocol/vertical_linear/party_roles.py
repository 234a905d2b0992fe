"""What one party does in a vertical run, wherever it runs: it finds the common rows, trains, and predicts.

    1. `vertical.matching`: where tables have ids, a set intersection finds the rows that all parties have, in one order
    2. `match_and_train`: the party's role in the training, on the common rows
    3. `match_and_predict`: the party's role in a joint prediction, on the common rows of another table

All steps share the channel's session, and so one ledger of the party.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from hekat.data import Table
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical.label_privacy import OwnLabels, replace_labels
from hekat.protocol.vertical.matching import MatchedTable, Matching, Predicted, match_rows, match_training_rows
from hekat.protocol.vertical.phases import PREDICTION, TRAINING
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.party_run import PartyRun
from hekat.protocol.vertical_linear.prediction.predict_scores import predict_scores
from hekat.protocol.vertical_linear.prediction.settings import SCORE_BITS, PredictionSettings
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.timing_labels import KEYS
from hekat.scheme.paillier import generate_keys


@dataclass(frozen=True)
class Trained:
    """What guest or host is left with."""

    part: ModelPart
    matched: MatchedTable


def match_and_train(
    channel: RecordedChannel,
    table: Table,
    settings: VerticalLinearSettings,
    matching: Matching,
    make_run: Callable[[MatchedTable], PartyRun],
    hold_out: float = 0.0,
    score_bits: int = SCORE_BITS,
    own_labels: OwnLabels | None = None,
) -> Trained:
    """Play a guest or a host to the end of its training; an arbiter has no rows, and plays `run_role`.

    Args:
        channel: The party's open session with the others.
        table: The party's own rows, labelled at the guest.
        settings: What all parties agreed on.
        matching: How common rows are found.
        make_run: Called with the common rows before the training begins; it may refuse them by raising.
        hold_out: The fraction of the common rows that is not trained on.
        score_bits: Scores that probabilities are fitted to are told to 2^-score_bits, SCORE_BITS at the most.
        own_labels: What the guest's site keeps of its labels, where the settings have label privacy.

    Raises:
        InputError, PolicyError, ProtocolError, BoundError: as the intersection, `replace_labels` and the roles of both
            forms do.
    """
    # Imported here: a prediction, which is a process of its own, needs none of it.
    from hekat.protocol.vertical_linear.prediction.calibration import calibrate
    from hekat.protocol.vertical_linear.roles import run_role

    matched = match_training_rows(channel, table, matching, hold_out, settings.training.seed)
    if settings.label_privacy is not None and channel.party == settings.guest:
        answered = replace_labels(matched.table, settings, settings.label_privacy, own_labels, channel.ledger)
        matched = replace(matched, table=answered)
    run = make_run(matched)
    with matching.phases.measure(TRAINING):
        part = run_role(channel, matched.table, settings, run)
    assert part is not None  # guest and hosts have one
    with matching.phases.measure(PREDICTION):
        ready = PartyRun(run.stopwatch, key_pair=run.key_pair, count_predictions=partial(run.count_calibration, part))
        part = calibrate(channel, part, matched.table, settings, ready, score_bits)
    return Trained(part, matched)


def match_and_predict(
    channel: RecordedChannel,
    part: ModelPart,
    table: Table,
    settings: PredictionSettings,
    matching: Matching,
    make_run: Callable[[MatchedTable], PartyRun],
    *,
    makes_key: bool = False,
) -> Predicted:
    """Play this party's role in a joint prediction.

    Args:
        channel: The party's open session with the others.
        part: The party's own part of the model.
        table: The rows to predict, with at least the columns of the part.
        settings: What all parties agreed on.
        matching: How common rows are found.
        make_run: Called with the common rows before anything of a score is computed; it may refuse them by raising.
        makes_key: Whether a key for this prediction is made while rows are matched, on another core where there is
            one; the run has none then.

    Raises:
        InputError, PolicyError, ProtocolError, BoundError: as the intersection and `predict_scores` do.
    """
    with ThreadPoolExecutor(1) as pool:
        key = pool.submit(generate_keys, part.key_bits) if makes_key and matching.intersection is not None else None
        matched = match_rows(channel, table, matching)
        run = make_run(matched)
        if key is not None:
            with matching.stopwatch.measure(KEYS):
                run = replace(run, key_pair=key.result())
    with matching.phases.measure(PREDICTION):
        scores = predict_scores(channel, part, matched.table, settings, run)
    return Predicted(scores, matched)
