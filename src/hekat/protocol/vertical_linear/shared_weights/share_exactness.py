"""Joins the shares of both parties for the run's exactness check; like the check, it exists on one machine only."""

from __future__ import annotations

import threading
import weakref
from typing import Any

from hekat.protocol.vertical_linear.fixed_point import IntArray
from hekat.protocol.vertical_linear.objective import INTERCEPT, WEIGHTS
from hekat.protocol.vertical_linear.shared_weights.pair import Pair
from hekat.protocol.vertical_linear.shared_weights.scales import RANGE_BITS, rows_shift
from hekat.protocol.vertical_linear.shared_weights.shares import ShareArray, add_shares, to_floats

_Deposit = tuple[str, ShareArray, ShareArray, float]
_waiting: weakref.WeakKeyDictionary[Any, dict[str, _Deposit]] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def deposit_shares(
    exactness_check: Any,
    step: str,
    rows: IntArray,
    party: str,
    pair: Pair,
    shares: tuple[ShareArray, ShareArray],
    allowance: float,
) -> None:
    """Take a party's shares of the weights and of the gradient's sums of one step; the second party starts the check.

    Raises BoundError as `ExactnessCheck.deposit` does.
    """
    with _lock:
        waiting = _waiting.setdefault(exactness_check, {})
        first = waiting.pop(step, None)
        if first is None:
            waiting[step] = (party, *shares, allowance)
            return
    names = (party, first[0]) if pair.is_guest else (first[0], party)
    value_bits = pair.scales.value_bits
    weights = to_floats(add_shares(first[1], shares[0]), value_bits)
    gradient = to_floats(add_shares(first[2], shares[1]), value_bits) * (2.0 ** rows_shift(len(rows)) / len(rows))
    allowances = (allowance, first[3]) if pair.is_guest else (first[3], allowance)
    for name, columns, allowed in zip(names, (pair.guest_range, pair.host_range), allowances, strict=True):
        parts = [{WEIGHTS: values[columns]} for values in (weights, gradient)]
        if name == names[0]:
            parts = [{**part, INTERCEPT: values[0]} for part, values in zip(parts, (weights, gradient), strict=True)]
        exactness_check.deposit(step, rows, name, *parts, allowed, 2.0**RANGE_BITS)
