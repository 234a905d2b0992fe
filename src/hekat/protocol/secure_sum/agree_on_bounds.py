"""A party's side of clipping bounds fitted to all parties' extremes (`daciq`), whatever protects the sums."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.message_checks import check_bounds
from hekat.protocol.secure_sum.messages import ClipMessage, RangeMessage
from hekat.protocol.secure_sum.streamed_tensor import ScaledTensors, extremes_of


def agree_on_bounds(
    channel: RecordedChannel,
    aggregator: str,
    step: str,
    scaled: ScaledTensors,
    *,
    takes_part: bool = True,
    timeout_s: float | None = None,
) -> dict[str, float]:
    """Tell the aggregator this party's range of each tensor, if it takes part; receive the bounds fitted to all."""
    names = sorted(scaled)
    if takes_part:
        channel.send(aggregator, f"{step}/range", _ranges_of(scaled, names))
    answer = channel.receive(aggregator, f"{step}/clip", ClipMessage, timeout_s=timeout_s)
    check_bounds(answer.alpha, aggregator, step, len(names))
    return {name: float(alpha) for name, alpha in zip(names, answer.alpha, strict=True)}


def _ranges_of(scaled: ScaledTensors, names: Sequence[str]) -> RangeMessage:
    extremes = [extremes_of(scaled[name]) for name in names]
    return RangeMessage(
        minimum=np.array([low for low, _ in extremes]),
        maximum=np.array([high for _, high in extremes]),
        sizes=np.array([scaled[name].size for name in names], dtype=np.int64),
    )
