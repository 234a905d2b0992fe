"""Clipping bounds ahead of a sum: fitted to all parties' extremes (`daciq`), or from a histogram (`adaptive`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hekat.codec import daciq_alpha
from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.agreement.message_checks import check_bounds, check_ranges
from hekat.protocol.secure_sum.agreement.messages import ClipMessage, RangeMessage
from hekat.protocol.secure_sum.roster import Roster
from hekat.protocol.secure_sum.settings import MIN_ALPHA, SumSettings
from hekat.protocol.secure_sum.streamed_tensor import ScaledTensors, extremes_of
from hekat.protocol.secure_sum.summation import Summation


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


def serve_bounds(roster: Roster, settings: SumSettings, summation: Summation, step: str, *, first: bool) -> None:
    """Serve the bounds that the clipping policy needs before the step's sum; `first`: its bounds begin afresh."""
    codec = settings.codec
    if settings.protection == "none":
        return
    if codec.clipping == "adaptive" and first and codec.alpha is None:
        summation.serve(f"{step}/exponents", then=step)
    if codec.clipping != "daciq":
        return
    summation.begin(step)
    found = roster.receive_alike(
        f"{step}/range",
        RangeMessage,
        lambda message: tuple(message.sizes.tolist()),
        f"its ranges in {step} are of other tensors than most parties'",
        lambda party, message: check_ranges(message, party, step),
        among=summation.parties_in(step),
    )
    roster.check_enough(step, 1)
    ranges = list(found.values())
    minimum = np.min([message.minimum for message in ranges], axis=0)
    maximum = np.max([message.maximum for message in ranges], axis=0)
    sizes = ranges[0].sizes
    alphas = [
        daciq_alpha(
            float(low),
            float(high),
            int(size),
            len(ranges),
            codec.value_bits,
            fixed_alpha=max(abs(float(low)), abs(float(high)), MIN_ALPHA),
        )
        for low, high, size in zip(minimum, maximum, sizes, strict=True)
    ]
    roster.send_to_all(f"{step}/clip", ClipMessage(alpha=np.array(alphas)))
