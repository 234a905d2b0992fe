"""Joint prediction: the parties of one model compute scores of common rows.

1. the guest tells all hosts which model, how many rows and who receives; a host with another part, another number of
   rows, other receivers or another number of splits refuses
2. every host tells the guest, rows after rows, the side of each row at each of its splits
3. the guest walks the trees, adds the leaves up, and sends the scores to the other receivers

The guest hears a bit for every split and row, whether the row comes by that split or not: the same for rows that it
knows well and rows that it does not.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.errors import InputError, ProtocolError
from hekat.ledger import RecordedChannel
from hekat.model.trees import BinnedTable, bin_rows
from hekat.protocol.vertical.label_privacy import correct_softmax
from hekat.protocol.vertical.predicted_rows import arrange_rows, check_part
from hekat.protocol.vertical_trees.model_part import SPLIT_COLUMNS, SPLIT_LEFT, TreesPart
from hekat.protocol.vertical_trees.own_table import dense_values
from hekat.protocol.vertical_trees.party_run import TreesRun
from hekat.protocol.vertical_trees.prediction.messages import (
    PredictionSidesMessage,
    TreePredictionCallMessage,
    TreeScoresMessage,
)
from hekat.protocol.vertical_trees.prediction.settings import TreePredictionSettings
from hekat.protocol.vertical_trees.prediction.walk import add_leaves, side_bits
from hekat.protocol.vertical_trees.timing_labels import ROWS
from hekat.protocol.vertical_trees.tree_arrays import OWN, read_trees

FloatArray = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]

CALL_STEP = "predict/call"
SIDES_STEP = "predict/sides"
SCORES_STEP = "predict/scores"
BITS_AT_ONCE = 1 << 26
"""Sides that travel in one message: 8 MiB of them."""


def predict_scores(
    channel: RecordedChannel, part: TreesPart, table: Table, settings: TreePredictionSettings, run: TreesRun
) -> FloatArray | None:
    """Play this party's role in a joint prediction of the rows of `table`, which all parties have in the same order.

    Args:
        channel: The party's open session with the others.
        part: The party's own part of the model.
        table: The rows to predict, with at least the columns of the part; empty cells (NaN) are missing values.
        settings: What all parties agreed on.
        run: What the machine gives the role; `run.count_predictions` may refuse the rows.

    Returns:
        The scores, float64 (rows, K), at the receivers; None elsewhere. K is 1 for two classes and for a regression,
        else the number of classes.

    Raises:
        InputError: There is no row, or columns differ from the part's columns, or hold infinity.
        ProtocolError: parties come with parts of different models, or with different rows or receivers.
        PolicyError: more rows than may be predicted with this part (`run.count_predictions`).
    """
    check_part(channel.party, part, settings)
    rows = _arrange(part, table)
    run.count_predictions(rows.row_count)
    if part.is_guest:
        scores = _predict_as_guest(channel, part, rows, settings, run)
        for receiver in settings.receivers:
            if receiver != part.guest:
                channel.send(receiver, SCORES_STEP, TreeScoresMessage(scores))
        return scores
    _predict_as_host(channel, part, rows, settings, run)
    if channel.party not in settings.receivers:
        return None
    scores = channel.receive(part.guest, SCORES_STEP, TreeScoresMessage).scores
    if scores.shape != (rows.row_count, part.target_count) or not np.isfinite(scores).all():
        raise ProtocolError(
            f"{part.guest} sent scores that cannot be",
            expected=f"finite numbers, shape {(rows.row_count, part.target_count)}",
            got=f"shape {scores.shape}",
        )
    return scores


def count_host_splits(part: TreesPart) -> dict[str, int]:
    """How many splits each host has in the trees of a guest's `part`."""
    counts = dict.fromkeys(part.hosts, 0)
    owners = owners_of(part)
    columns = part.arrays["node_column"][part.arrays["node_split_number"] != OWN]
    for column, count in zip(*np.unique(columns, return_counts=True), strict=True):
        counts[str(owners[int(column)])] += int(count)
    return counts


def owners_of(part: TreesPart) -> list[str | None]:
    """The host of each of all parties' columns, as the guest numbers them; None for the guest's own."""
    owners: list[str | None] = [None] * len(part.columns)
    for host in part.hosts:
        owners += [host] * part.host_columns[host]
    return owners


def _predict_as_guest(
    channel: RecordedChannel, part: TreesPart, rows: BinnedTable, settings: TreePredictionSettings, run: TreesRun
) -> FloatArray:
    counts, owners = count_host_splits(part), owners_of(part)
    for host in part.hosts:
        call = TreePredictionCallMessage(part.model_id, rows.row_count, list(settings.receivers), counts[host])
        channel.send(host, CALL_STEP, call)
    trees = read_trees(part.arrays)
    scores = np.repeat(part.arrays["start_scores"][:, np.newaxis], rows.row_count, axis=1)
    # Hosts cut rows by their own number of splits; the guest walks once all of a cut of the finest has come.
    streams = {host: _Sides(channel, host, counts[host], rows.row_count) for host in part.hosts}
    for start, end in _cuts(max(counts.values()), rows.row_count):
        sides = {host: stream.take(start, end) for host, stream in streams.items()}
        with run.stopwatch.measure(ROWS):
            add_leaves(scores[:, start:end], trees, rows.digits[:, start:end], sides, owners)
    return correct_softmax(np.ascontiguousarray(scores.T), part.label_privacy, part.classes)


class _Sides:
    """The sides that one host sends, taken in cuts."""

    def __init__(self, channel: RecordedChannel, host: str, split_count: int, row_count: int) -> None:
        self._channel, self._host, self._count = channel, host, split_count
        self._cuts = _cuts(split_count, row_count) if split_count else iter(())
        self._start = self._end = 0
        self._kept = np.zeros((split_count, 0), np.uint8)

    def take(self, start: int, end: int) -> Bytes:
        """The packed sides of rows start .. end - 1; `start` is a multiple of 8, and cuts come in order."""
        if not self._count:
            return self._kept
        while self._end < end:
            self._start, self._end = next(self._cuts)
            self._kept = self._read(self._end - self._start)
        first = (start - self._start) // 8
        return self._kept[:, first : first + (end - start + 7) // 8]

    def _read(self, row_count: int) -> Bytes:
        data = self._channel.receive(self._host, SIDES_STEP, PredictionSidesMessage).sides
        width = (row_count + 7) // 8
        if len(data) != self._count * width:
            raise ProtocolError(
                f"{self._host} sent sides of other rows or splits",
                expected=f"{self._count * width} bytes",
                got=f"{len(data)} bytes",
                cure="use the parts of one training, the same rows in the same order, and one job",
            )
        return np.frombuffer(data, np.uint8).reshape(self._count, width)


def _predict_as_host(
    channel: RecordedChannel, part: TreesPart, rows: BinnedTable, settings: TreePredictionSettings, run: TreesRun
) -> None:
    columns, left = part.arrays[SPLIT_COLUMNS].tolist(), part.arrays[SPLIT_LEFT]
    call = channel.receive(part.guest, CALL_STEP, TreePredictionCallMessage)
    for what, guests, own in (
        ("another part of the model", call.model_id, part.model_id),
        ("another number of rows", call.row_count, rows.row_count),
        ("other receivers", call.receivers, list(settings.receivers)),
        ("another number of splits", call.split_count, len(columns)),
    ):
        if guests != own:
            raise ProtocolError(
                f"{channel.party} and {part.guest} come to predict with {what}",
                expected=f"as at {part.guest}: {guests}",
                got=f"at {channel.party}: {own}",
                cure="use the parts of one training, the same rows in the same order, and one job",
            )
    if not columns:
        return
    for start, end in _cuts(len(columns), rows.row_count):
        with run.stopwatch.measure(ROWS):
            sides = side_bits(columns, left, rows.digits[:, start:end]).tobytes()
        channel.send(part.guest, SIDES_STEP, PredictionSidesMessage(sides))


def _cuts(split_count: int, row_count: int) -> Iterator[tuple[int, int]]:
    """Rows that travel together: a power of two of them, so that cuts of few splits begin where cuts of many do."""
    step = max(8, 1 << max(0, (BITS_AT_ONCE // max(1, split_count)).bit_length() - 1))
    return ((start, min(row_count, start + step)) for start in range(0, row_count, step))


def _arrange(part: TreesPart, table: Table) -> BinnedTable:
    """Bring the columns of `table` into the order of the part, and into its bins. Raises InputError."""
    values = dense_values(arrange_rows(part, table))
    if np.isinf(values).any():
        raise InputError(
            f"{table.name} holds infinite values",
            expected="finite numbers, or empty cells",
            got="infinity",
            cure="correct them, or leave them empty",
        )
    return bin_rows(values, part.bins)
