"""The role of the arbiter: it holds the key and no rows, and opens what guest and hosts mask.

    1. learn from the guest how many rows and columns there are; make the key pair, send the public half, with a digest
       of what the guest said
    2. each batch: open the masked gradients of all parties, give each its own back
    3. each epoch: open the masked loss for the guest; hear whether to go on

All it sees opened is uniform mod n, or mod q under BFV. It opens as many numbers a batch as a party has columns, of
each the one slot that is a sum over all rows, and no more: under BFV the coefficients that the layout gives and no
other ones. Of a loss it tells the upper bits alone.
Source: Hardy et al. 2017, section 4; HAFLO, Fig. 2.
"""

from __future__ import annotations

from typing import NoReturn, Protocol

import numpy as np

from hekat.engine.limbs import LimbArray, limbs_for_bits, limbs_from_ints
from hekat.errors import ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical_linear.arbiter.arithmetic import plain_limbs
from hekat.protocol.vertical_linear.arbiter.messages import (
    GRADIENTS,
    LOSSES,
    EpochEndMessage,
    OpenedGradientMessage,
    OpenedLossMessage,
    PublicKeyMessage,
    StartMessage,
)
from hekat.protocol.vertical_linear.arbiter.opening import (
    KEY_STEP,
    NO_PROTECTION,
    check_key_size,
    describe_bfv_key,
)
from hekat.protocol.vertical_linear.arbiter.same_start import digest_start
from hekat.protocol.vertical_linear.arbiter.signed_limbs import integers_of, limbs_of
from hekat.protocol.vertical_linear.arbiter.sum_layout import SumLayout, slot_cut_bits
from hekat.protocol.vertical_linear.loss_bits import describe_told_loss
from hekat.protocol.vertical_linear.party_run import EpochRecord, PartyRun
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.steps import EPOCH_END, START_STEP, batch_step, epoch_step
from hekat.protocol.vertical_linear.timing_labels import DECRYPT, KEYS
from hekat.scheme.bfv import MaskedProducts, ProductLayout, open_products
from hekat.scheme.bfv import PrivateKey as BfvPrivateKey
from hekat.scheme.bfv import generate_keys as generate_bfv_keys
from hekat.scheme.paillier import Ciphertexts, PrivateKey, decrypt, generate_keys
from hekat.scheme.paillier.row_packing import RowPacking, open_slots
from hekat.wire import from_bytes, to_bytes
from hekat.wire.bfv import read_masked

Asked = tuple[int, int]
"""Columns and targets (K) that a party has products of: columns times targets numbers."""
THE_LOSS: Asked = (1, 1)


class _Opener(Protocol):
    def open(
        self, batches: list[bytes], asked: list[Asked], senders: tuple[str, ...], cut_bits: int = 0
    ) -> list[LimbArray]:
        """The plaintexts of each party's bytes less their lowest `cut_bits`, as limbs (count, limbs).

        Raises ProtocolError for other numbers than those asked for.
        """
        ...


def run_arbiter(channel: RecordedChannel, settings: VerticalLinearSettings, run: PartyRun) -> None:
    """Serve one run to its end."""
    start = channel.receive(settings.guest, START_STEP, StartMessage)
    layout = SumLayout.of(start, settings)
    opener = _make_opener(channel, settings, layout, run, digest_start(start))
    if start.finished:
        return
    # The guest's intercept is a column of ones.
    asked = [(count + (index == 0), settings.column_count) for index, count in enumerate(start.column_counts)]
    _note_openings(channel, settings, start, asked)
    for epoch in range(start.epochs_done + 1, settings.training.epochs + 1):
        for batch in range(layout.batches):
            _open_gradients(channel, settings, run, opener, batch_step(epoch, batch), asked)
        _open_loss(channel, settings, run, opener, epoch_step(epoch), layout.loss_cut_bits)
        end = channel.receive(settings.guest, f"{epoch_step(epoch)}/{EPOCH_END}", EpochEndMessage)
        run.on_epoch(EpochRecord(epoch))
        if end.finished:
            return


def _make_opener(
    channel: RecordedChannel, settings: VerticalLinearSettings, layout: SumLayout, run: PartyRun, start_digest: bytes
) -> _Opener:
    """The key pair, or nothing under protection `none`; tells all parties the public half, and what it began with."""
    if settings.protection == "none":
        channel.ledger.note("setup", NO_PROTECTION, "disclosed")
        opener: _Opener = _PlainOpener()
        public_key = b""
    elif settings.protection == "lattice":
        with run.stopwatch.measure(KEYS):
            bfv_pair = generate_bfv_keys()
        products = layout.products(bfv_pair.public.parameters)
        described = describe_bfv_key(bfv_pair.public, products)
        channel.ledger.note("setup", f"made and keeps the private half of {described}", "public")
        opener = _BfvKeyHolder(bfv_pair.private, products)
        public_key = to_bytes(bfv_pair.public)
    else:
        with run.stopwatch.measure(KEYS):
            pair = run.key_pair or generate_keys(settings.key_bits)
        check_key_size(pair.public, settings)
        channel.ledger.note("setup", f"made a Paillier key of {settings.key_bits} bits and keeps it", "public")
        opener, public_key = _KeyHolder(pair.private, layout.packing(pair.public)), to_bytes(pair.public)
    for party in settings.parties:
        channel.send(party, KEY_STEP, PublicKeyMessage(public_key=public_key, start_digest=start_digest))
    return opener


def _open_gradients(
    channel: RecordedChannel,
    settings: VerticalLinearSettings,
    run: PartyRun,
    opener: _Opener,
    step: str,
    asked: list[Asked],
) -> None:
    message_type = GRADIENTS[settings.protection]
    received = [channel.receive(party, f"{step}/gradient", message_type).values for party in settings.parties]
    with run.stopwatch.measure(DECRYPT):
        opened = opener.open(received, asked, settings.parties)
    for party, values in zip(settings.parties, opened, strict=True):
        channel.send(party, f"{step}/opened", OpenedGradientMessage(values=values))


def _open_loss(
    channel: RecordedChannel, settings: VerticalLinearSettings, run: PartyRun, opener: _Opener, step: str, cut_bits: int
) -> None:
    received = channel.receive(settings.guest, f"{step}/loss", LOSSES[settings.protection]).values
    with run.stopwatch.measure(DECRYPT):
        (opened,) = opener.open([received], [THE_LOSS], (settings.guest,), cut_bits)
    channel.send(settings.guest, f"{step}/opened-loss", OpenedLossMessage(values=opened))


def _note_openings(
    channel: RecordedChannel, settings: VerticalLinearSettings, start: StartMessage, asked: list[Asked]
) -> None:
    """Whoever departs from the protocol has as many numbers of its own choice opened: so they are counted."""
    counts = [f"{m * k} for {party}" for party, (m, k) in zip(settings.parties, asked, strict=True)]
    channel.ledger.note("setup", f"opens masked numbers in every batch: {', '.join(counts)}", "public")
    channel.ledger.note("setup", describe_told_loss(start.row_count, settings.training.epochs), "public")


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


class _KeyHolder:
    """Opens the middle slot of all parties' ciphertexts in one batch, so that all cores and lanes have work."""

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


class _BfvKeyHolder:
    """Opens the one coefficient of each sum, where the layout has it, and tells its upper bits."""

    def __init__(self, key: BfvPrivateKey, layout: ProductLayout) -> None:
        self._key, self._layout = key, layout

    def open(
        self, batches: list[bytes], asked: list[Asked], senders: tuple[str, ...], cut_bits: int = 0
    ) -> list[LimbArray]:
        received = [read_masked(data, self._key.public) for data in batches]
        for masked, wanted, sender in zip(received, asked, senders, strict=True):
            _check_count(sender, masked.count, wanted)
            self._check_positions(sender, masked, wanted)
        told_limbs = limbs_for_bits(self._layout.opened_bits - cut_bits)
        return [
            limbs_from_ints(open_products(self._key, masked, self._layout, cut_bits=cut_bits), told_limbs)
            for masked in received
        ]

    def _check_positions(self, sender: str, masked: MaskedProducts, asked: Asked) -> None:
        holders, places = self._layout.positions(*asked)
        if not (np.array_equal(masked.holders, holders) and np.array_equal(masked.places, places)):
            _refuse(sender, "the coefficients that hold the products of its columns", "other coefficients")


class _PlainOpener:
    """Gives back what it gets, but for bits that are cut: under protection `none` there is nothing to open."""

    def open(
        self, batches: list[bytes], asked: list[Asked], senders: tuple[str, ...], cut_bits: int = 0
    ) -> list[LimbArray]:
        opened = [plain_limbs(data, sender) for data, sender in zip(batches, senders, strict=True)]
        for part, wanted, sender in zip(opened, asked, senders, strict=True):
            _check_count(sender, len(part), wanted)
        return [limbs_of(integers_of(part) >> cut_bits) if cut_bits else part for part in opened]
