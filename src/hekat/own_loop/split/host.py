"""A host as its training loop sees it: `forward` gives features, `backward` moves their weights unseen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hekat.ledger import RecordedChannel
from hekat.own_loop.own_code import OwnCode
from hekat.own_loop.split.given_rows import GivenRows
from hekat.own_loop.split.messages import SplitCallMessage
from hekat.own_loop.split.party import NOTHING_KEPT, EpochRecord, Keeping, SplitParty
from hekat.own_loop.split.same_values import answer_guest
from hekat.protocol.vertical_network.host_side.loop import HostLoop
from hekat.protocol.vertical_network.party_run import NetworkState
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings


class SplitHost(SplitParty):
    """A party with columns and no labels; made by `hekat.federate_split`, which gives it to the host's code."""

    def __init__(
        self,
        channel: RecordedChannel,
        settings: VerticalNetworkSettings,
        loop: HostLoop,
        code: OwnCode,
        on_epoch: Callable[[EpochRecord], None] = lambda record: None,
        keeping: Keeping = NOTHING_KEPT,
    ) -> None:
        super().__init__(channel, settings, loop.plan, code, on_epoch, keeping)
        self._loop = loop
        self._features: GivenRows | None = None
        """What `forward` was given last."""

    @property
    def width(self) -> int:
        """m, the columns of this host's features."""
        return self._settings.network.width_of(self.name)

    def forward(self, features: Any) -> None:
        """Give the guest this host's part of z, A_h W_h, of the batch that is out; the sum over hosts opens to it.

        Args:
            features: A_h, (rows, `width`), a float array or a tensor, below 8 in magnitude. With `host_bottom="frozen"`
                the same in every epoch.

        Raises:
            InputError: another shape or kind, NaN or infinity, frozen features that changed.
            BoundError: more than 5 % of them lie beyond 8; others are cut to it, and counted.
            ProtocolError: no batch waits for it; at the guest where it calls for something else.
        """
        with self._code.calling():
            rows = self._begin_forward()
            self._features = GivenRows("features", features, (rows, self.width), self.name)
            self._loop.forward(*self._call_forward(rows), self._features.values)

    def backward(self) -> Any:
        """Move this host's weights by the batch of the last `forward`; nobody sees them or their gradient.

        Returns:
            The slope of the guest's loss by the features, of their kind, shape, dtype and device, for
            `features.backward(da)`; None with `host_bottom="frozen"`, where no slope opens.

        Raises:
            BoundError: the slopes are larger than weights below 8 give.
            ProtocolError: no `forward` waits for it.
        """
        with self._code.calling():
            rows = self._begin_backward()
            self._leave_for_backward()
            slopes = self._loop.backward()
            given, self._features = self._features, None
        return None if slopes is None or given is None else given.alike(slopes / rows)

    def evaluate(self, features: Any) -> None:
        """Give the guest this host's part of z of any rows; nothing is moved. The guest calls `evaluate` with as many.

        Args:
            features: as `forward` takes them, of the same rows as at the guest.

        Raises:
            InputError: another shape or kind, NaN or infinity, no rows.
            BoundError: more than 5 % of them lie beyond 8.
            ProtocolError: between `forward` and `backward`; at the guest where it calls for something else.
        """
        with self._code.calling():
            self._begin_evaluate()
            given = GivenRows("features", features, (None, self.width), self.name)
            self._loop.evaluate(self._call_evaluate(given.row_count), given.values)

    def _end_epoch(self, epoch: int) -> tuple[bool, float]:
        return self._loop.end_epoch(epoch)

    def _shared_state(self, epoch: int, finished: bool) -> NetworkState:
        arrays, model_id = self._loop.arrays(with_state=True), self._loop.start.model_id
        return NetworkState(arrays, epoch, finished, model_id=model_id)

    def _compare(self, step: str, digest: bytes, label: str) -> None:
        answer_guest(self._channel, self.guest, step, digest)

    def _agree(self, step: str, call: SplitCallMessage) -> None:
        self._channel.send(self.guest, step, call)
