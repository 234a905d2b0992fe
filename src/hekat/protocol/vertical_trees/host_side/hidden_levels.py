"""The levels below the roots at a host that must not hear which rows are in which node.

Every exchange is of all rows that train, in their order, for some nodes that the host does not know. The host sums by
the joined bins of the root, and cannot hold the guest to a least number of rows in a node. Every split is of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.errors import ProtocolError
from hekat.model.trees import JoinedBins
from hekat.protocol.vertical_trees.arithmetic.interface import IntArray
from hekat.protocol.vertical_trees.host_side.block_answers import BlockAnswers
from hekat.protocol.vertical_trees.host_side.host_part import HostPart
from hekat.protocol.vertical_trees.messages import HiddenLevelMessage, HiddenSplitsMessage, SplitSidesMessage
from hekat.protocol.vertical_trees.settings import VerticalTreesSettings
from hekat.protocol.vertical_trees.side_bits import pack_sides
from hekat.protocol.vertical_trees.steps import CHOSEN, SIDES, level_step, part_step
from hekat.protocol.vertical_trees.sums_plan import NODES_AT_ONCE, make_exchange, tree_ranges

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class RootBins:
    """A host's joined bins at the root, `joined` of one node, with the sums' places and counts there.

    `own_bin_counts` (columns,) are before bins were joined. `rows` train the trees of the iteration; `is_missing_seen`
    (columns,): some of them lack a value.
    """

    own_bin_counts: IntArray
    joined: JoinedBins
    tables: IntArray
    bin_counts: IntArray
    rows: IntArray
    is_missing_seen: Bools


def play_hidden_levels(answers: BlockAnswers, part: HostPart, root: RootBins, step: str) -> None:
    """Answer the levels below the roots until the trees of the iteration have grown. Raises ProtocolError."""
    settings = answers.settings
    for level in range(settings.training.max_depth + 1):
        if level and not _answer_level(answers, root, level_step(step, level), level):
            return
        _take_splits(answers, part, root, level_step(step, level), _most_splits(settings, root, level))


def _most_splits(settings: VerticalTreesSettings, root: RootBins, level: int) -> int:
    """The most splits of a level: a split node has enough rows for both children, and no row is in two nodes."""
    of_tree = min(1 << level, max(1, root.rows.size // (2 * settings.training.min_samples_leaf)))
    return of_tree * settings.target_count


def _answer_level(answers: BlockAnswers, root: RootBins, at: str, level: int) -> bool:
    """Answer for all nodes of a level; False once the trees have grown."""
    settings, guest = answers.settings, answers.settings.guest
    # One child of each node that the last level split.
    most = 0 if level == settings.training.max_depth else _most_splits(settings, root, level - 1)
    asked, number, more = 0, 0, True
    while more:
        here = part_step(at, number)
        message = answers.channel.receive(guest, here, HiddenLevelMessage)
        if not message.node_count and not number and not message.more:
            return False
        asked += message.node_count
        if not 1 <= message.node_count <= NODES_AT_ONCE or asked > most:
            raise _refused(guest, "asks for sums of nodes that cannot be", f"{most} nodes at most in this level")
        ranges = tree_ranges(settings) * message.node_count
        exchange = make_exchange(level, ranges, message.window, [root.rows], [0])
        answers.play(here, exchange, message.public_key, root.tables, root.bin_counts)
        number, more = number + 1, message.more
    return True


def _take_splits(answers: BlockAnswers, part: HostPart, root: RootBins, at: str, most: int) -> None:
    """Hear which splits are this host's own, keep them, and tell the side of every row."""
    chosen = answers.channel.receive(answers.settings.guest, f"{at}/{CHOSEN}", HiddenSplitsMessage)
    sides = []
    answers.memory.check_sides(chosen.columns.size, answers.own_bins.shape[1])
    for column, left in _read_splits(chosen, root, answers.settings.guest, most):
        part.keep_split(column, left)
        sides.append(left[answers.own_bins[column]])
    if sides:
        message = SplitSidesMessage(pack_sides(np.concatenate(sides)))
        answers.channel.send(answers.settings.guest, f"{at}/{SIDES}", message)


def _read_splits(chosen: HiddenSplitsMessage, root: RootBins, guest: str, most: int) -> list[tuple[int, Bools]]:
    """The splits by column, and which of the column's own bins go left. Raises ProtocolError."""
    columns, count = chosen.columns, chosen.columns.size
    if columns.shape != (count,) or chosen.unseen_left.shape != (count,) or chosen.left.ndim != 1 or count > most:
        raise _refused(guest, "splits in another form", f"a column and a side for each of {most} splits at most")
    splits, at = [], 0
    for column, unseen in zip(columns.tolist(), chosen.unseen_left.tolist(), strict=True):
        if not 0 <= column < root.is_missing_seen.size:
            raise _refused(guest, "splits on a column that does not exist", f"0 to {root.is_missing_seen.size - 1}")
        bin_count = int(root.joined.bin_counts[0, column])
        left = chosen.left[at : at + bin_count]
        at += bin_count
        if bin_count < 2 or left.size != bin_count or (left > 1).any() or not 0 < left.sum() < bin_count or unseen > 1:
            raise _refused(guest, "splits on bins that it has no sums of", "sides of joined bins, some on each side")
        own_count = int(root.own_bin_counts[column])
        own_left = left.astype(bool)[root.joined.groups[0, column, :own_count]]
        if not root.is_missing_seen[column]:
            own_left[-1] = bool(unseen)
        splits.append((column, own_left))
    if at != chosen.left.size:
        raise _refused(guest, "sends sides of bins that do not exist", f"{at} sides")
    return splits


def _refused(guest: str, what: str, expected: str) -> ProtocolError:
    return ProtocolError(
        f"{guest} {what}",
        expected=expected,
        got="something else",
        cure="find out what runs there: this release does not send that",
    )
