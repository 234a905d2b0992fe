"""Two parties that play a batch in two threads, and what their shares add up to by Python's integers."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from typing import Any

import numpy as np

from hekat.engine.limbs import ints_from_limbs
from hekat.protocol.shares.share_array import add_shares, signed_integers
from hekat.protocol.vertical_network.sealed.batch import SealedBatch
from hekat.protocol.vertical_network.sealed.cross_products import Payload
from hekat.protocol.vertical_network.sealed.lattice_products import LatticeProducts
from hekat.protocol.vertical_network.sealed.plain_products import PlainProducts
from hekat.protocol.vertical_network.sealed.scales import SLOT_RING, SealedShape
from hekat.protocol.vertical_network.sealed.shared_weights import SharedWeights

SIDES = (True, False)


class ThreadPeer:
    """A party's end of two queues."""

    def __init__(self, out: Queue, back: Queue) -> None:
        self._out, self._back = out, back
        self.sent: list[tuple[str, Payload]] = []

    def send(self, step: str, payload: Payload) -> None:
        self.sent.append((step, payload))
        self._out.put((step, payload))

    def receive(self, step: str) -> Payload:
        name, payload = self._back.get(timeout=60)
        assert name == step
        return payload


def make_products(protection: str) -> list[Any]:
    """Both parties' halves, each with the other's key."""
    pair = [LatticeProducts() if protection == "lattice" else PlainProducts() for _ in SIDES]
    for one, other in (pair, pair[::-1]):
        one.meet("the other", other.public_key)
    return pair


def play(
    shape: SealedShape,
    products: list[Any],
    columns: list[np.ndarray],
    weights: list[SharedWeights],
    step: str,
    turn: Callable[[SealedBatch, np.ndarray, bool], Any],
) -> list[Any]:
    """What `turn` returns at guest and host, of their batches and the shares of the weights that these use."""
    queues = [Queue(), Queue()]
    peers = [ThreadPeer(*queues), ThreadPeer(*queues[::-1])]

    def take_turn(number: int) -> Any:
        used = weights[number].begin_step(step)
        batch = SealedBatch(
            peers[number],
            products[number],
            shape,
            columns[number],
            weights[number].modular,
            is_guest=SIDES[number],
        )
        return turn(batch, used, SIDES[number])

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(take_turn, (0, 1)))


def opened(shares: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Shares mod 2^128 as the integers that they add up to."""
    return signed_integers(add_shares(*shares))


def opened_modular(shares: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The same of shares mod t."""
    total, t = SLOT_RING.add(*shares), SLOT_RING.modulus
    values = [(x + t // 2) % t - t // 2 for x in ints_from_limbs(SLOT_RING.to_limbs(total))]
    return np.array(values, object).reshape(total.shape[1:])
