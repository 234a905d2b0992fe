"""How a receiver of a linear regression's scores learns the unit of the target from the guest."""

from __future__ import annotations

import numpy as np

from hekat.errors import ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.prediction.messages import TargetSpreadMessage

SPREAD_STEP = "predict/spread"


def send_target_spread(channel: RecordedChannel, part: ModelPart, to: str) -> None:
    """Send the target's spread, where this party is the guest of a linear regression; else nothing."""
    if part.task == "linear" and channel.party == part.guest:
        channel.send(to, SPREAD_STEP, TargetSpreadMessage(part.target_spread))


def find_target_spread(channel: RecordedChannel, part: ModelPart) -> float:
    """What scores are multiplied with: 1 for classes, the guest's own spread, or the spread that the guest sends.

    Raises ProtocolError for a spread that is no finite number above 0.
    """
    if part.task != "linear":
        return 1.0
    if channel.party == part.guest:
        return part.target_spread
    spread = channel.receive(part.guest, SPREAD_STEP, TargetSpreadMessage).spread
    if not (np.isfinite(spread) and spread > 0):
        raise ProtocolError(f"{part.guest} sent no spread", expected="a finite number above 0", got="another")
    return spread
