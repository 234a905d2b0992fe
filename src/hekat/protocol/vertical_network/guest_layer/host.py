"""A host's end of the layer in FATE's form: all products are under its key, and its addend accumulates its noise."""

from __future__ import annotations

import numpy as np

from hekat.protocol.shares.share_array import add_shares, negate
from hekat.protocol.vertical_network.arithmetic.make import kept_features, returned_gradient
from hekat.protocol.vertical_network.fixed_point import FloatArray, IntArray, add, multiply
from hekat.protocol.vertical_network.guest_layer.messages import HostOutputsMessage, NoisyGradientMessage
from hekat.protocol.vertical_network.guest_layer.noise import draw_noise
from hekat.protocol.vertical_network.host_side.layer import HostLayer
from hekat.protocol.vertical_network.steps import ANSWER, FACTORS, FEATURES, GRADIENT, NOISY_GRADIENT, OUTPUTS
from hekat.protocol.vertical_network.timing_labels import PLAIN


class NoisyHostLayer(HostLayer):
    """A host's addend of its weights: what it began with, and all of its noise since. Source as `HoldingGuestLayer`."""

    def forward(self, step: str, number: int, features: IntArray) -> None:
        """As `HostLayer.forward`, under no masks of other hosts."""
        exchange, guest, (rows, width) = self._exchange, self._guest, features.shape
        with exchange.measure(PLAIN):
            used = self.addend.use(step)
        product = kept_features(rows, width, exchange.units, 1)
        exchange.send_factors([guest], f"{step}/{FACTORS}", np.ascontiguousarray(features.T), product)
        share = exchange.take_answer(guest, f"{step}/{ANSWER}", product).T
        with exchange.measure(PLAIN):
            own = np.ascontiguousarray(add(share, multiply(features, used)))
        exchange.channel.send(guest, f"{step}/{OUTPUTS}", HostOutputsMessage(own))

    def backward(self, step: str, features: IntArray) -> FloatArray:
        """As `HostLayer.backward`: the gradient goes back with fresh noise, which the addend takes off the weights."""
        exchange, guest, (rows, width) = self._exchange, self._guest, features.shape
        product = returned_gradient(rows, width, exchange.units)
        exchange.send_factors([guest], f"{step}/{FEATURES}", features, product)
        share = exchange.take_answer(guest, f"{step}/{GRADIENT}", product)
        slopes = self.take_slopes(step, rows, width)
        with exchange.measure(PLAIN):
            noise = draw_noise((exchange.units, width), self.addend.rate_units(rows))
            returned = add_shares(share, noise)
            self.addend.move(negate(noise).transpose(1, 0, 2), rows)
        exchange.channel.send(guest, f"{step}/{NOISY_GRADIENT}", NoisyGradientMessage(returned))
        return slopes
