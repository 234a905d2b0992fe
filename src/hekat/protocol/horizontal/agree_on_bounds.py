"""A party's side of clipping bounds fitted to all parties' extremes (`daciq`), whatever protects the sums."""

from __future__ import annotations

import numpy as np

from hekat.ledger import RecordedChannel
from hekat.protocol.horizontal.aggregation import Tensors
from hekat.protocol.horizontal.messages import ClipMessage, RangeMessage
from hekat.protocol.horizontal.received import check_bounds


def agree_on_bounds(
    channel: RecordedChannel, aggregator: str, step: str, scaled: Tensors, *, timeout_s: float | None = None
) -> dict[str, float]:
    """Tell the aggregator this party's range of each tensor and receive the bounds fitted to all."""
    names = sorted(scaled)
    message = RangeMessage(
        minimum=np.array([scaled[name].min() for name in names]),
        maximum=np.array([scaled[name].max() for name in names]),
        sizes=np.array([scaled[name].size for name in names], dtype=np.int64),
    )
    channel.send(aggregator, f"{step}/range", message)
    answer = channel.receive(aggregator, f"{step}/clip", ClipMessage, timeout_s=timeout_s)
    check_bounds(answer.alpha, aggregator, step, len(names))
    return {name: float(alpha) for name, alpha in zip(names, answer.alpha, strict=True)}
