"""Every message of a training of trees across columns, each field with what it discloses and to whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.wire import ciphertext, disclosed, message, public

_UNDER = "the guest's key"


@message("vertical-trees/host-ready", version=1)
@dataclass(frozen=True)
class HostReadyMessage:
    """Host to guest, once: the shape of its columns' bins; arrays have one entry for each column."""

    row_count: int = public()
    bin_counts: npt.NDArray[np.int64] = disclosed("how many bins each column of the host has")
    is_category: npt.NDArray[np.uint8] = disclosed("which columns of the host hold categories")
    trees_done: int = public()
    model_id: str = public()


@message("vertical-trees/start", version=1)
@dataclass(frozen=True)
class StartMessage:
    """Guest to each host, once: all have the same rows and have done as many iterations.

    `column_counts` are of all parties. `finished`: the resumed training had ended, and nothing follows.
    """

    row_count: int = public()
    column_counts: list[int] = disclosed("how many columns each party has")
    trees_done: int = public()
    model_id: str = public()
    finished: bool = public()


@message("vertical-trees/level", version=1)
@dataclass(frozen=True)
class LevelMessage:
    """Guest to hosts, once a level: which nodes of the last level were split, the side of each row in them, and for
    which of their children sums are asked.

    `sides` has one bit for each row of each node that was split, 1 for left, node by node. At the root both are empty.
    Nothing asked, and nothing split: the trees of this iteration have grown. `window` lays out the encrypted gradients
    that follow; `public_key` is what they are encrypted under, empty where it is the last one.
    """

    split: npt.NDArray[np.uint8] = disclosed("which nodes of the tree were split")
    sides: bytes = disclosed("on which side of each split every row lies, whoever owns the split")
    asked: npt.NDArray[np.int64] = disclosed("which nodes of the tree may still be split")
    window: int = public()
    public_key: bytes = public()


@message("vertical-trees/hidden-level", version=1)
@dataclass(frozen=True)
class HiddenLevelMessage:
    """As LevelMessage below the root where the partition is hidden: for how many nodes sums are asked.

    `more`: before splits are told, further nodes of the level follow. No node: the trees of this iteration have grown.
    """

    node_count: int = disclosed("for how many nodes of a level sums are asked")
    more: bool = public()
    window: int = public()
    public_key: bytes = public()


@message("vertical-trees/gradients", version=1)
@dataclass(frozen=True)
class GradientsMessage:
    """Guest to hosts: the encrypted gradients of some rows of the asked nodes."""

    values: bytes = ciphertext(under=_UNDER)


@message("vertical-trees/plain-gradients", version=1)
@dataclass(frozen=True)
class PlainGradientsMessage:
    """As GradientsMessage under protection `none`."""

    values: bytes = disclosed("THE GRADIENTS, AND SO THE LABELS, UNENCRYPTED")


@message("vertical-trees/joined-bins", version=1)
@dataclass(frozen=True)
class JoinedBinsMessage:
    """Host to guest, once a level: which bins are one bin from this level on, and how many rows each joined bin has.

    `bin_counts` (nodes, columns): how many joined bins, 0 where a column has no sums any more. `groups` has, for each
    of these nodes and columns in turn that have some, the joined bin of each bin that the parent's were joined to (at
    the root, of each bin). `row_counts` has the rows of each joined bin in the same order. Where the partition is
    hidden, there is one node, the root, and no `row_counts`.
    """

    bin_counts: npt.NDArray[np.int64] = disclosed("how many bins of each column hold enough rows to be summed")
    groups: npt.NDArray[np.uint8] = disclosed("which bins of a node are joined for having too few rows in a child")
    row_counts: npt.NDArray[np.int64] = disclosed("how many rows of a node lie in each joined bin")


@message("vertical-trees/sums", version=1)
@dataclass(frozen=True)
class SumsMessage:
    """Host to guest: the sums of gradients in every joined bin of some of the asked nodes, which the guest opens."""

    values: bytes = disclosed("the sums of g and h in each joined bin of each asked node, once the guest opens them")


@message("vertical-trees/chosen-splits", version=1)
@dataclass(frozen=True)
class ChosenSplitsMessage:
    """Guest to each host, once a level: the splits that the host owns.

    `nodes` and `columns` have one entry for each split; `left` has, split by split, a byte for each joined bin: 1 where
    its rows go left.
    """

    nodes: npt.NDArray[np.int64] = disclosed("in which nodes of the tree the host owns the split")
    columns: npt.NDArray[np.int64] = disclosed("which columns of the host split a node")
    left: npt.NDArray[np.uint8] = disclosed("which joined bins of these columns go left")


@message("vertical-trees/hidden-splits", version=1)
@dataclass(frozen=True)
class HiddenSplitsMessage:
    """As ChosenSplitsMessage where the partition is hidden: which splits of the host's own the trees have.

    `left` is of the joined bins of the root. `unseen_left` says where missing values go that no training row had.
    """

    columns: npt.NDArray[np.int64] = disclosed("which columns of the host split a node")
    left: npt.NDArray[np.uint8] = disclosed("which joined bins of these columns go left")
    unseen_left: npt.NDArray[np.uint8] = disclosed("which side of each split has more rows")


@message("vertical-trees/split-sides", version=1)
@dataclass(frozen=True)
class SplitSidesMessage:
    """Host to guest, after it was told splits: a bit for each row of these nodes, 1 for left, split by split.

    Where the partition is hidden, a bit for every row.
    """

    sides: bytes = disclosed("on which side of the host's splits every row of these nodes lies")


@message("vertical-trees/tree-end", version=1)
@dataclass(frozen=True)
class TreeEndMessage:
    """Guest to hosts after every iteration: whether another one follows."""

    finished: bool = disclosed("whether what the guest alone sees ends the training")


def _by_protection(encrypted: type[Any], plain: type[Any]) -> dict[str, type[Any]]:
    return {"lattice": encrypted, "paillier": encrypted, "none": plain}


GRADIENTS = _by_protection(GradientsMessage, PlainGradientsMessage)
