"""The guest as its training loop sees it: `forward` opens what hosts' features give, `backward` moves their weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hekat.errors import BoundError, InputError, ProtocolError
from hekat.ledger import RecordedChannel
from hekat.own_loop.own_code import OwnCode
from hekat.own_loop.split.given_rows import FloatArray, GivenRows
from hekat.own_loop.split.messages import SplitCallMessage, describe_call
from hekat.own_loop.split.party import NOTHING_KEPT, EpochRecord, Keeping, SplitParty
from hekat.own_loop.split.same_values import compare_as_guest
from hekat.protocol.vertical_network.guest_side.loop import GuestLoop
from hekat.protocol.vertical_network.party_run import NetworkState
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings


class SplitGuest(SplitParty):
    """The party with labels; made by `hekat.federate_split`, which gives it to the guest's code."""

    def __init__(
        self,
        channel: RecordedChannel,
        settings: VerticalNetworkSettings,
        loop: GuestLoop,
        code: OwnCode,
        on_epoch: Callable[[EpochRecord], None] = lambda record: None,
        keeping: Keeping = NOTHING_KEPT,
    ) -> None:
        super().__init__(channel, settings, loop.plan, code, on_epoch, keeping)
        self._loop = loop
        self._stops = False

    def forward(self, activations: Any = None) -> Any:
        """z = `activations` + the sum over hosts of A_h W_h, of the rows of the batch that is out.

        Args:
            activations: the guest's own part of z, (rows, `units`): a float array, or a tensor, whose graph goes on in
                z. None: a guest without columns.

        Returns:
            z of the same kind, dtype and device; float64 without `activations`. A tensor requires grad and keeps it:
            after `loss.backward()` it has `z.grad`.

        Raises:
            InputError: before anything leaves: another shape or kind, NaN or infinity.
            ProtocolError: no batch waits for it, or a host calls for something else.
        """
        with self._code.calling():
            rows = self._begin_forward()
            own = None if activations is None else GivenRows("activations", activations, (rows, self.units), self.name)
            outputs = self._loop.forward(*self._call_forward(rows))
        z = _join(own, outputs)
        if own is not None and own.is_torch:
            _keep_gradient(z)
        return z

    def backward(self, dz: Any) -> None:
        """Move the weights of hosts: W_h <- W_h - `shared_rate` * A_h^T `dz`, with momentum where there is any.

        Hosts learn nothing of it, but where their bottoms train: then each learns `dz` W_h^T.

        Args:
            dz: the slope of the batch's loss by z, (rows, `units`): `z.grad`. The loss is a mean over rows: `dz` times
                the rows of the batch lies below 8.

        Raises:
            InputError: before anything leaves: another shape or kind, NaN or infinity, no slope at all.
            BoundError: more than 5 % of `dz` times the rows lie beyond 8; others are cut to it, and counted.
            ProtocolError: no `forward` waits for it.
        """
        with self._code.calling():
            rows = self._begin_backward()
            if dz is None:
                raise InputError(
                    f"party {self.name}: there is no slope of z",
                    expected=f"shape ({rows}, {self.units})",
                    got="None",
                    cure="call loss.backward() first, outside torch.no_grad(), and pass z.grad",
                )
            slopes = GivenRows("dz", dz, (rows, self.units), self.name).values * rows
            self._leave_for_backward()
            try:
                self._loop.backward(slopes)
            except BoundError as error:
                raise BoundError(
                    f"party {self.name}: dz cannot be used, since it lies beyond its range",
                    expected=f"dz times the {rows:,} rows of the batch: {error.expected}",
                    got=error.got,
                    cure="take the loss as a mean over rows, or lower shared_rate or your optimiser's learning rate",
                ) from None

    def evaluate(self, activations: Any = None, *, row_count: int | None = None) -> Any:
        """z of any rows, in training or not: nothing is moved. Hosts call `evaluate` with as many rows.

        Args:
            activations: as `forward` takes them, (rows, `units`).
            row_count: how many rows, where there are no `activations`.

        Returns:
            z as of `forward`; a tensor requires grad only where `activations` do.

        Raises:
            InputError: before anything leaves: another shape or kind, NaN or infinity, no rows.
            ProtocolError: between `forward` and `backward`, or where a host calls for something else.
        """
        with self._code.calling():
            self._begin_evaluate()
            own = None if activations is None else GivenRows("activations", activations, (None, self.units), self.name)
            rows = row_count if own is None else own.row_count
            if not isinstance(rows, int) or isinstance(rows, bool) or rows < 1 or row_count not in (None, rows):
                raise InputError(
                    f"party {self.name}: rows to evaluate cannot be counted",
                    expected="activations with rows, or row_count of 1 or more",
                    got=f"row_count {row_count!r}"[:60],
                    cure="pass the activations alone, or row_count alone",
                )
            outputs = self._loop.evaluate(self._call_evaluate(rows), rows)
        return _join(own, outputs)

    def stop(self) -> None:
        """Let the running epoch be the last: hosts learn so when it ends.

        Raises:
            ProtocolError: outside an epoch.
        """
        if not self._epoch:
            self._refuse("stop", "in an epoch of party.epochs()", "outside")
        self._stops = True

    def _end_epoch(self, epoch: int) -> tuple[bool, float]:
        finished = self._stops or epoch == self._settings.training.epochs
        return finished, self._loop.end_epoch(epoch, finished=finished)

    def _shared_state(self, epoch: int, finished: bool) -> NetworkState:
        arrays, model_id = self._loop.arrays(with_state=True), self._loop.start.model_id
        return NetworkState(arrays, epoch, finished, model_id=model_id)

    def _compare(self, step: str, digest: bytes, label: str) -> None:
        compare_as_guest(self._channel, self.hosts, step, digest, label)

    def _agree(self, step: str, call: SplitCallMessage) -> None:
        for host in self.hosts:
            theirs = self._channel.receive(host, step, SplitCallMessage)
            if theirs != call:
                raise ProtocolError(
                    f"{host} does not call for the same as {self.name}",
                    expected=f"{self.name} {describe_call(call)}",
                    got=f"{host} {describe_call(theirs)}",
                    cure="make the same calls with the same rows at every party, in the same order; to end early, "
                    "call party.stop() at the guest",
                )


def _join(own: GivenRows | None, outputs: FloatArray) -> Any:
    return outputs if own is None else own.plus(outputs)


def _keep_gradient(z: Any) -> None:
    if z.requires_grad:
        z.retain_grad()
    else:
        z.requires_grad_()
