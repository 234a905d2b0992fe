"""Joins the shares of both holders for the run's exactness check; like the check, it exists on one machine only."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from typing import Any

from hekat.protocol.shares.share_array import ShareArray, add_shares, to_floats
from hekat.protocol.vertical_linear.fixed_point import IntArray
from hekat.protocol.vertical_linear.objective import INTERCEPT, WEIGHTS
from hekat.protocol.vertical_linear.shared_weights.scales import RANGE_BITS, Scales, rows_shift

_Deposit = tuple[ShareArray, ShareArray]
_waiting: weakref.WeakKeyDictionary[Any, dict[str, _Deposit]] = weakref.WeakKeyDictionary()
_allowances: weakref.WeakKeyDictionary[Any, dict[str, float]] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def note_allowance(exactness_check: Any, party: str, allowance: float) -> None:
    """Take how far gradients of a party's columns may be off by the rounding of this form."""
    with _lock:
        _allowances.setdefault(exactness_check, {})[party] = allowance


def deposit_shares(
    exactness_check: Any,
    step: str,
    rows: IntArray,
    scales: Scales,
    owners: Mapping[str, slice],
    shares: tuple[ShareArray, ShareArray],
) -> None:
    """Take a holder's shares of the weights and of the gradient's sums of one step; the second holder starts the check.

    `owners` says whose columns stand where among the weights, the guest first, who has the intercept too. Raises
    BoundError as `ExactnessCheck.deposit` does.
    """
    with _lock:
        waiting = _waiting.setdefault(exactness_check, {})
        first = waiting.pop(step, None)
        if first is None:
            waiting[step] = shares
            return
        allowances = dict(_allowances[exactness_check])
    weights = to_floats(add_shares(first[0], shares[0]), scales.value_bits)
    gradient = to_floats(add_shares(first[1], shares[1]), scales.value_bits)
    gradient *= 2.0 ** rows_shift(len(rows)) / len(rows)
    guest = next(iter(owners))
    for name, columns in owners.items():
        parts = [{WEIGHTS: values[columns]} for values in (weights, gradient)]
        if name == guest:
            parts = [{**part, INTERCEPT: values[0]} for part, values in zip(parts, (weights, gradient), strict=True)]
        exactness_check.deposit(step, rows, name, *parts, allowances[name], 2.0**RANGE_BITS)
