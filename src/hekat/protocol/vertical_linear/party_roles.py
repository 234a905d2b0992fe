"""What one party does in a vertical run, wherever it runs: it finds the common rows, trains, and predicts.

    1. `match_rows`: where tables have ids, a set intersection finds the rows that all parties have, in one order
    2. `match_and_train`: the party's role in the training, on the common rows
    3. `match_and_predict`: the party's role in a joint prediction, on the common rows of another table

All steps share the channel's session, and so one ledger of the party.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.ledger import RecordedChannel
from hekat.protocol.psi.common_rows import INTERSECTION, common_rows_of
from hekat.protocol.psi.rows import Positions
from hekat.protocol.psi.settings import IntersectionSettings
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_linear.hold_out import hold_out_rows
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.party_run import PartyRun
from hekat.protocol.vertical_linear.prediction.predict_scores import predict_scores
from hekat.protocol.vertical_linear.prediction.settings import SCORE_BITS, PredictionSettings
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.timing_labels import KEYS, PREDICTION, TRAINING
from hekat.scheme.paillier import generate_keys

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Matching:
    """How a party finds the rows that all parties have; `intersection` None: rows are aligned, row by row.

    `stopwatch` adds up what the party computes; `phases` adds up the whole time of each phase, waiting included.
    `progress(what, done, total)` is called some times a second while the intersection computes.
    """

    intersection: IntersectionSettings | None
    stopwatch: Stopwatch
    phases: Stopwatch = field(default_factory=Stopwatch)
    progress: Callable[[str, int, int], None] | None = None


@dataclass(frozen=True)
class MatchedTable:
    """A party's rows that all parties have, in the order common to all.

    `positions` (rows,) are their numbers in the party's own table; None: all of them, in their order. `seconds` is how
    long matching took, waiting included. Where rows are held out, `table` has the others, and `held_out` those.
    """

    table: Table = field(repr=False)
    positions: Positions | None = field(repr=False)
    seconds: float
    held_out: Table | None = field(default=None, repr=False)

    @property
    def common_count(self) -> int:
        """How many rows all parties have."""
        return len(self.table) + (0 if self.held_out is None else len(self.held_out))


@dataclass(frozen=True)
class Trained:
    """What guest or host is left with."""

    part: ModelPart
    matched: MatchedTable


@dataclass(frozen=True)
class Predicted:
    """The `scores` (rows, K) of the matched rows at a receiver; None elsewhere."""

    scores: FloatArray | None = field(repr=False)
    matched: MatchedTable


def match_rows(channel: RecordedChannel, table: Table, matching: Matching) -> MatchedTable:
    """Find the rows of `table` that all parties have. Raises as `common_rows_of`."""
    start = time.perf_counter()
    positions = None
    with matching.phases.measure(INTERSECTION):
        if matching.intersection is not None:
            positions = common_rows_of(channel, table, matching.intersection, matching.stopwatch, matching.progress)
            table = table.take(positions)
    return MatchedTable(table, positions, time.perf_counter() - start)


def match_and_train(
    channel: RecordedChannel,
    table: Table,
    settings: VerticalLinearSettings,
    matching: Matching,
    make_run: Callable[[MatchedTable], PartyRun],
    hold_out: float = 0.0,
    score_bits: int = SCORE_BITS,
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

    Raises:
        InputError, PolicyError, ProtocolError, BoundError: as the intersection and the roles of both forms do.
    """
    # Imported here: a prediction, which is a process of its own, needs none of it.
    from hekat.protocol.vertical_linear.prediction.calibration import calibrate
    from hekat.protocol.vertical_linear.roles import run_role

    matched = match_rows(channel, table, matching)
    if hold_out:
        trained_on, held_out = hold_out_rows(matched.table, hold_out, settings.training.seed)
        matched = replace(matched, table=trained_on, held_out=held_out)
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
