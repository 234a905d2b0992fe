"""What one party does in a vertical run, wherever it runs: it finds the common rows, trains, and predicts.

    1. `match_rows`: where tables have ids, a set intersection finds the rows that all parties have, in one order
    2. `match_and_train`: the party's role in the training, on the common rows
    3. `match_and_predict`: the party's role in a joint prediction, on the common rows of another table

All steps share the channel's session, and so one ledger of the party.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.ledger import RecordedChannel
from hekat.protocol.psi.common_rows import common_rows_of
from hekat.protocol.psi.rows import Positions
from hekat.protocol.psi.settings import IntersectionSettings
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.party_run import PartyRun
from hekat.protocol.vertical_linear.prediction.predict_scores import predict_scores
from hekat.protocol.vertical_linear.prediction.settings import PredictionSettings
from hekat.protocol.vertical_linear.roles import run_role
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Matching:
    """How a party finds the rows that all parties have; `intersection` None: rows are aligned, row by row.

    `progress(what, done, total)` is called some times a second while the intersection computes.
    """

    intersection: IntersectionSettings | None
    stopwatch: Stopwatch
    progress: Callable[[str, int, int], None] | None = None


@dataclass(frozen=True)
class MatchedTable:
    """A party's rows that all parties have, in the order common to all.

    `positions` (rows,) are their numbers in the party's own table; None: all of them, in their order. `seconds` is how
    long matching took, waiting included.
    """

    table: Table = field(repr=False)
    positions: Positions | None = field(repr=False)
    seconds: float


@dataclass(frozen=True)
class Trained:
    """What guest or host is left with; `seconds` is how long the training took, waiting included."""

    part: ModelPart
    matched: MatchedTable
    seconds: float


@dataclass(frozen=True)
class Predicted:
    """`scores` (rows, K) of the matched rows at a receiver, else None; `seconds` is how long the prediction took,
    waiting included."""

    scores: FloatArray | None = field(repr=False)
    matched: MatchedTable
    seconds: float


def match_rows(channel: RecordedChannel, table: Table, matching: Matching) -> MatchedTable:
    """Find the rows of `table` that all parties have. Raises as `common_rows_of`."""
    start = time.perf_counter()
    if matching.intersection is None:
        return MatchedTable(table, None, time.perf_counter() - start)
    positions = common_rows_of(channel, table, matching.intersection, matching.stopwatch, matching.progress)
    return MatchedTable(table.take(positions), positions, time.perf_counter() - start)


def match_and_train(
    channel: RecordedChannel,
    table: Table,
    settings: VerticalLinearSettings,
    matching: Matching,
    make_run: Callable[[MatchedTable], PartyRun],
) -> Trained:
    """Play a guest or a host to the end of its training; an arbiter has no rows, and plays `run_role`.

    Args:
        channel: The party's open session with the others.
        table: The party's own rows, labelled at the guest.
        settings: What all parties agreed on.
        matching: How common rows are found.
        make_run: Called with the common rows before the training begins; it may refuse them by raising.

    Raises:
        InputError, PolicyError, ProtocolError, BoundError: as the intersection and the roles of both forms do.
    """
    matched = match_rows(channel, table, matching)
    run = make_run(matched)
    start = time.perf_counter()
    part = run_role(channel, matched.table, settings, run)
    assert part is not None  # guest and hosts have one
    return Trained(part, matched, time.perf_counter() - start)


def match_and_predict(
    channel: RecordedChannel,
    part: ModelPart,
    table: Table,
    settings: PredictionSettings,
    matching: Matching,
    make_run: Callable[[MatchedTable], PartyRun],
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
        InputError, PolicyError, ProtocolError, BoundError: as the intersection and `predict_scores` do.
    """
    matched = match_rows(channel, table, matching)
    run = make_run(matched)
    start = time.perf_counter()
    scores = predict_scores(channel, part, matched.table, settings, run)
    return Predicted(scores, matched, time.perf_counter() - start)
