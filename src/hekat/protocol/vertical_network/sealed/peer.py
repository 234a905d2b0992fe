"""The other party of a sealed network over a channel: steps of a batch become messages."""

from __future__ import annotations

from typing import Any

from hekat.ledger import RecordedChannel
from hekat.protocol.vertical_network.sealed.cross_products import Payload
from hekat.protocol.vertical_network.sealed.inner_watch import InnerWatch
from hekat.protocol.vertical_network.sealed.messages import ANSWER_MESSAGE, FACTORS_MESSAGE


class ChannelPeer:
    """`other` in the steps below `step`, under the job's protection; what it takes is no time of `watch`."""

    def __init__(self, channel: RecordedChannel, other: str, protection: str, step: str, watch: InnerWatch) -> None:
        self._channel, self._other, self._step, self._watch = channel, other, step, watch
        self._messages: dict[str, Any] = {"factors": FACTORS_MESSAGE[protection], "answer": ANSWER_MESSAGE[protection]}

    def send(self, step: str, payload: Payload) -> None:
        with self._watch.pause():
            self._channel.send(self._other, f"{self._step}/{step}", self._kind_of(step)(list(payload)))

    def receive(self, step: str) -> Payload:
        with self._watch.pause():
            message = self._channel.receive(self._other, f"{self._step}/{step}", self._kind_of(step))
        return tuple(message.values)

    def _kind_of(self, step: str) -> Any:
        return self._messages[step.rpartition("/")[2]]
