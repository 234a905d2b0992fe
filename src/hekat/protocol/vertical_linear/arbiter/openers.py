"""How the arbiter opens what parties mask: one opener for Paillier, one for BFV, and one for no protection."""

from __future__ import annotations

from typing import NoReturn, Protocol

import numpy as np

from hekat.engine.limbs import LimbArray, limbs_for_bits, limbs_from_ints
from hekat.engine.signed_limbs import integers_from_limbs
from hekat.errors import ProtocolError
from hekat.protocol.vertical_linear.arbiter.plain_arithmetic import limbs_of, plain_limbs
from hekat.protocol.vertical_linear.arbiter.sum_layout import slot_cut_bits
from hekat.scheme.bfv import MaskedProducts, ProductLayout, open_products
from hekat.scheme.bfv import PrivateKey as BfvPrivateKey
from hekat.scheme.paillier import Ciphertexts, PrivateKey, decrypt
from hekat.scheme.paillier.row_packing import RowPacking, open_slots
from hekat.wire import from_bytes
from hekat.wire.bfv import read_masked

Asked = tuple[int, int]
"""The columns and targets (K) whose products a party may have opened: columns times targets numbers."""


class Opener(Protocol):
    """Opens masked numbers, as many as each party may ask for."""

    def open(
        self, batches: list[bytes], asked: list[Asked], senders: tuple[str, ...], cut_bits: int = 0
    ) -> list[LimbArray]:
        """The plaintexts of each sender's bytes without their lowest `cut_bits`, as limbs (count, limbs).

        Raises ProtocolError for other numbers than `asked`.
        """
        ...


class PaillierOpener:
    """Opens the middle slot of all parties' ciphertexts in one call, so that all cores have work."""

    def __init__(self, key: PrivateKey, packing: RowPacking) -> None:
        self._key, self._packing = key, packing

    def open(
        self, batches: list[bytes], asked: list[Asked], senders: tuple[str, ...], cut_bits: int = 0
    ) -> list[LimbArray]:
        parts = [from_bytes(data, Ciphertexts, public_key=self._key.public).reshape(-1) for data in batches]
        for part, wanted, sender in zip(parts, asked, senders, strict=True):
            _check_count(sender, part.size, wanted)
        opened = decrypt(self._key, Ciphertexts.concatenate(parts)).limbs
        opened = open_slots(opened, self._key.public, self._packing, slot_cut_bits(cut_bits))
        ends = np.cumsum([part.size for part in parts])
        return [np.ascontiguousarray(one) for one in np.split(opened, ends[:-1])]


class BfvOpener:
    """Opens the one coefficient of each sum, where the layout has it, and tells its upper bits."""

    def __init__(self, key: BfvPrivateKey, layout: ProductLayout) -> None:
        self._key, self._layout = key, layout

    def open(
        self, batches: list[bytes], asked: list[Asked], senders: tuple[str, ...], cut_bits: int = 0
    ) -> list[LimbArray]:
        parts = [read_masked(data, self._key.public) for data in batches]
        for masked, wanted, sender in zip(parts, asked, senders, strict=True):
            _check_count(sender, masked.count, wanted)
            self._check_positions(sender, masked, wanted)
        told_limbs = limbs_for_bits(self._layout.opened_bits - cut_bits)
        return [
            limbs_from_ints(open_products(self._key, masked, self._layout, cut_bits=cut_bits), told_limbs)
            for masked in parts
        ]

    def _check_positions(self, sender: str, masked: MaskedProducts, asked: Asked) -> None:
        holders, places = self._layout.positions(*asked)
        if not (np.array_equal(masked.holders, holders) and np.array_equal(masked.places, places)):
            _refuse(sender, "the coefficients that hold the products of its columns", "other coefficients")


class PlainOpener:
    """Gives back the numbers that it gets, without the bits that are cut: protection `none` has nothing to open."""

    def open(
        self, batches: list[bytes], asked: list[Asked], senders: tuple[str, ...], cut_bits: int = 0
    ) -> list[LimbArray]:
        opened = [plain_limbs(data, sender) for data, sender in zip(batches, senders, strict=True)]
        for part, wanted, sender in zip(opened, asked, senders, strict=True):
            _check_count(sender, len(part), wanted)
        return [limbs_of(integers_from_limbs(part) >> cut_bits) if cut_bits else part for part in opened]


def _check_count(party: str, got: int, asked: Asked) -> None:
    columns, targets = asked
    if got != columns * targets:
        _refuse(party, str(columns * targets), str(got))


def _refuse(party: str, expected: str, got: str) -> NoReturn:
    raise ProtocolError(
        f"{party} asks for other numbers to be opened than its gradient has",
        expected=expected,
        got=got,
        cure="find out what runs there: the arbiter opens nothing else",
    )
