"""A party's way to opened sums: it masks them, sends them to the arbiter, and takes the mask off the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hekat.ledger import RecordedChannel
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical.key_size import KEY_TIMEOUT_S, check_key_size
from hekat.protocol.vertical_linear.arbiter.arithmetic import Arithmetic, IntegerArray, Masked
from hekat.protocol.vertical_linear.arbiter.bfv_arithmetic import BfvArithmetic
from hekat.protocol.vertical_linear.arbiter.messages import (
    GRADIENTS,
    LOSSES,
    OpenedGradientMessage,
    OpenedLossMessage,
    PublicKeyMessage,
    StartMessage,
)
from hekat.protocol.vertical_linear.arbiter.paillier_arithmetic import PaillierArithmetic
from hekat.protocol.vertical_linear.arbiter.plain_arithmetic import PlainArithmetic
from hekat.protocol.vertical_linear.arbiter.same_start import check_same_start
from hekat.protocol.vertical_linear.arbiter.sum_layout import SumLayout
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.timing_labels import PLAIN
from hekat.scheme.bfv import ProductLayout
from hekat.scheme.bfv import PublicKey as BfvPublicKey
from hekat.scheme.paillier import PublicKey
from hekat.wire import from_bytes

KEY_STEP = "public-key"
NO_PROTECTION = "protection is NONE: scores, residuals and gradients leave unencrypted"


@dataclass(frozen=True)
class Opening:
    """One party's connection to the arbiter, with the arithmetic of the job."""

    channel: RecordedChannel
    arbiter: str
    arithmetic: Arithmetic[Any]
    stopwatch: Stopwatch
    loss_cut_bits: int = 0

    def ask_gradient(self, step: str, masked: Masked) -> None:
        """Send a masked gradient; the party can do other work before it calls `open_gradient`."""
        self.channel.send(self.arbiter, f"{step}/gradient", GRADIENTS[self._protection](values=masked.data))

    def open_gradient(self, step: str, masked: Masked) -> IntegerArray:
        """Receive the integers of the party's gradient, in the order in which they were masked."""
        opened = self.channel.receive(self.arbiter, f"{step}/opened", OpenedGradientMessage)
        with self.stopwatch.measure(PLAIN):
            return self.arithmetic.unmask(opened.values, masked, self.arbiter)

    def open_loss(self, step: str, masked: Masked) -> int:
        """The arbiter's opening of the epoch's loss: its integer without the bits that the arbiter tells nobody."""
        self.channel.send(self.arbiter, f"{step}/loss", LOSSES[self._protection](values=masked.data))
        opened = self.channel.receive(self.arbiter, f"{step}/opened-loss", OpenedLossMessage)
        return int(self.arithmetic.unmask(opened.values, masked, self.arbiter, self.loss_cut_bits)[0])

    @property
    def _protection(self) -> str:
        return self.arithmetic.protection


def receive_opening(
    channel: RecordedChannel,
    settings: VerticalLinearSettings,
    start: StartMessage,
    layout: SumLayout,
    stopwatch: Stopwatch,
) -> Opening:
    """Receive and check the arbiter's key, and make the arithmetic that computes under it.

    Raises KeyRefusedError for a key of another size, and ProtocolError where the guest told the arbiter something else
    than `start`.
    """
    assert settings.arbiter is not None
    received = channel.receive(settings.arbiter, KEY_STEP, PublicKeyMessage, timeout_s=KEY_TIMEOUT_S)
    check_same_start(received, start, channel.party, settings)
    cut_bits = layout.loss_cut_bits
    if settings.protection == "none":
        channel.ledger.note("setup", NO_PROTECTION, "disclosed")
        return Opening(channel, settings.arbiter, PlainArithmetic(), stopwatch, cut_bits)
    if settings.protection == "lattice":
        bfv_key = from_bytes(received.public_key, BfvPublicKey)
        products = layout.products(bfv_key.parameters)
        described = describe_bfv_key(bfv_key, products)
        channel.ledger.note("setup", f"encrypts under the arbiter's {described}", "public")
        return Opening(channel, settings.arbiter, BfvArithmetic(bfv_key, products), stopwatch, cut_bits)
    key = from_bytes(received.public_key, PublicKey)
    check_key_size(key, settings.key_bits, settings.arbiter)
    channel.ledger.note("setup", f"encrypts under the arbiter's Paillier key {key.fingerprint[:8]}, djn", "public")
    return Opening(channel, settings.arbiter, PaillierArithmetic(key, layout), stopwatch, cut_bits)


def describe_bfv_key(key: BfvPublicKey, layout: ProductLayout) -> str:
    """The ledger's words on a BFV key, and on the odds that an opened number tells anything of its noise."""
    parameters = key.parameters
    return (
        f"BFV key {key.fingerprint[:8]}, set {parameters.name}: degree {parameters.degree}, modulus of "
        f"{parameters.modulus.bit_length()} bits; noise shows in an opened number with odds below "
        f"2^-{layout.hiding_bits}"
    )
