"""Attacks on rounds under Paillier: what an update tells the aggregator, and whoever has the key."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.protocol.encrypted_model.play import AGGREGATOR, HOSTS, make_settings, make_tables, play

from hekat.protocol.encrypted_model import host as host_module
from hekat.protocol.encrypted_model.arithmetic import choose, paillier
from hekat.protocol.encrypted_model.arithmetic.fixed_point import IntegerMap
from hekat.protocol.shares.share_array import signed_integers
from hekat.scheme.paillier import Ciphertexts, KeyPair, decrypt, generate_keys
from hekat.scheme.paillier.encrypt import plaintext_residues
from hekat.wire import from_bytes

SEED = 31
NORTH, SOUTH = HOSTS[:2]


class Overheard:
    """One round of two hosts, with the arbiter's key pair and each host's map."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.pairs: list[KeyPair] = []
        self.maps: dict[str, IntegerMap] = {}
        make_host = host_module.make_host

        def make_pair(bits: int) -> KeyPair:
            self.pairs.append(generate_keys(bits))
            return self.pairs[-1]

        def keep_map(channel: Any, settings: Any, key: Any, own: IntegerMap, seeds: Any) -> Any:
            self.maps[channel.party] = own
            return make_host(channel, settings, key, own, seeds)

        patch.setattr(choose, "generate_keys", make_pair)
        patch.setattr(host_module, "make_host", keep_map)
        settings = make_settings(protection="paillier", training={"rounds": 1, "momentum": 0.0})
        self.played = play(settings, make_tables(SEED, columns=2))

    def ciphertexts(self, sender: str, to: str, step: str) -> Ciphertexts:
        message = self.played.messages(sender, to, step)[0]
        return from_bytes(message.values, Ciphertexts, public_key=self.pairs[0].public)

    def residues(self, sender: str, to: str, step: str) -> list[int]:
        read = self.ciphertexts(sender, to, step)
        limbs = read.engine.limbs_of(read.reshape(-1).residues)
        return [int.from_bytes(row.astype("<u8").tobytes(), "little") for row in read.engine.to_host(limbs)]

    def confirms_map(self) -> bool:
        """Whether the aggregator, by weights and update alone, can tell a right guess of a host's map from others."""
        n = self.pairs[0].public.n
        weights = self.residues(AGGREGATOR, NORTH, "weights")
        update = self.residues(NORTH, AGGREGATOR, "update")
        matrix = self.maps[NORTH].matrix
        products = [
            int(np.prod([pow(c, int(m), n) for c, m in zip(weights, row, strict=True)], dtype=object)) % n
            for row in matrix.tolist()
        ]
        # Plaintexts, and masks with them, are gone mod n: (1 + m n) is 1 there.
        return products == [value % n for value in update]

    def opened_update(self) -> Any:
        """What who has the key opens of one host's update."""
        update = self.ciphertexts(NORTH, AGGREGATOR, "update")
        public = self.pairs[0].public
        limbs = plaintext_residues(public, decrypt(self.pairs[0].private, update).limbs, update.engine)
        return np.array([int.from_bytes(row.astype("<u8").tobytes(), "little") for row in limbs], object)


def test_an_update_confirms_a_guess_of_a_map_unless_it_is_rerandomised(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        assert not Overheard(patch).confirms_map()
    with monkeypatch.context() as patch:
        patch.setattr(paillier, "rerandomise", lambda products: products)
        assert Overheard(patch).confirms_map()


def test_a_single_update_opens_to_a_uniform_number_and_without_masks_to_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        run = Overheard(patch)
        assert all(value >> (run.pairs[0].public.bits - 64) for value in run.opened_update())
    with monkeypatch.context() as patch:
        patch.setattr(paillier.PaillierHost, "_grow", lambda self, seed: np.zeros(self._addend.shape, object))
        run = Overheard(patch)
        found = run.opened_update() - (1 << paillier.OFFSET_BITS)
        expected = signed_integers(run.maps[NORTH].offset).ravel() % (1 << 128)
        assert (found % (1 << 128) == expected).all()  # the first round's weights are 0
