"""The guest's end of the layer in FATE's form: it multiplies hosts' encrypted features, under no key of its own."""

from __future__ import annotations

import numpy as np

from hekat.errors import ProtocolError
from hekat.protocol.shares.share_array import ShareArray, add_shares
from hekat.protocol.vertical_network.arithmetic.interface import Numbers
from hekat.protocol.vertical_network.arithmetic.make import kept_features, returned_gradient
from hekat.protocol.vertical_network.fixed_point import FloatArray, IntArray, add
from hekat.protocol.vertical_network.guest_layer.messages import HostOutputsMessage, NoisyGradientMessage
from hekat.protocol.vertical_network.guest_side.layer import GuestLayer, check_outputs
from hekat.protocol.vertical_network.steps import ANSWER, FACTORS, FEATURES, GRADIENT, NOISY_GRADIENT, OUTPUTS
from hekat.protocol.vertical_network.timing_labels import PLAIN


class HoldingGuestLayer(GuestLayer):
    """The guest's addends W' = W - noise of all hosts' weights.

    Rows outside training go as in form `shared`. Source: FATE, `federatedml/nn/hetero_nn/README.md`, forward and
    backward propagation of the interactive layer; corrections: decision 0091.
    """

    def forward(self, step: str, number: int, row_count: int) -> FloatArray:
        """As `GuestLayer.forward`; the outputs of each host open by themselves."""
        exchange, units = self._exchange, self._exchange.units
        shares: list[Numbers] = []
        for host, addend in self.addends.items():
            with exchange.measure(PLAIN):
                used = np.ascontiguousarray(addend.use(step).T)
            product = kept_features(row_count, exchange.widths[host], units, 1)
            held = exchange.take_factors(host, f"{step}/{FACTORS}", product)
            plain = exchange.prepare(used, product)
            shares.append(exchange.send_answer(host, f"{step}/{ANSWER}", held, plain, product).T)
        opened = []
        for host, own in zip(self.addends, shares, strict=True):
            other = exchange.channel.receive(host, f"{step}/{OUTPUTS}", HostOutputsMessage).share
            opened.append(add(own, check_outputs(host, other, (row_count, units))))
        return self.to_outputs(add(*opened))

    def backward(self, step: str, slopes: IntArray) -> None:
        """As `GuestLayer.backward`; each host returns its gradient with noise, and learns slopes of its features."""
        exchange, rows = self._exchange, len(slopes)
        turned = np.ascontiguousarray(slopes.T)
        for host, addend in self.addends.items():
            product = returned_gradient(rows, exchange.widths[host], exchange.units)
            held = exchange.take_factors(host, f"{step}/{FEATURES}", product)
            plain = exchange.prepare(turned, product)
            own = exchange.send_answer(host, f"{step}/{GRADIENT}", held, plain, product)
            self.give_slopes(step, host, slopes)
            returned = exchange.channel.receive(host, f"{step}/{NOISY_GRADIENT}", NoisyGradientMessage).share
            _check_gradient(host, returned, own)
            with exchange.measure(PLAIN):
                addend.move(add_shares(own, returned).transpose(1, 0, 2), rows)


def _check_gradient(host: str, returned: ShareArray, own: ShareArray) -> None:
    if returned.shape != own.shape or returned.dtype != np.uint64:
        raise ProtocolError(
            f"{host} returned a gradient that cannot be",
            expected=f"uint64 limbs, shape {own.shape}",
            got=f"{returned.dtype}, shape {returned.shape}",
            cure="all parties must run the same job and release",
        )
