"""The end of a round at a party: all models equal, all agreed to go on or to stop."""

from __future__ import annotations

from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.messages import RoundAgreedMessage, RoundEndMessage


def finish_round(
    channel: RecordedChannel,
    aggregator: str,
    step: str,
    model_digest: bytes,
    finished: bool,
    *,
    timeout_s: float | None = None,
) -> None:
    """Report this party's model digest and wait until the aggregator has found all of them equal."""
    channel.send(aggregator, f"{step}/end", RoundEndMessage(model_digest=model_digest, finished=finished))
    channel.receive(aggregator, f"{step}/agreed", RoundAgreedMessage, timeout_s=timeout_s)
