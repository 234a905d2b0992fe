"""The role of the arbiter: it holds the key and no rows, and opens what guest and hosts mask.

    1. learn from the guest how many rows and columns there are; make the key pair, send the public half
    2. each batch: open the masked gradients of all parties, give each its own back
    3. each epoch: open the masked loss for the guest; hear whether to go on

All it sees opened is uniform mod n, or mod q under BFV. It opens as many numbers a batch as a party has columns, of
each the one slot that is a sum over all rows, and no more.
Source: Hardy et al. 2017, section 4; HAFLO, Fig. 2.
"""

from __future__ import annotations

from typing import Protocol

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
    describe_lattice,
)
from hekat.protocol.vertical_linear.arbiter.sum_layout import SumLayout
from hekat.protocol.vertical_linear.parts_of_time import DECRYPT, KEYS
from hekat.protocol.vertical_linear.party_run import EpochRecord, PartyRun
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.steps import EPOCH_END, START_STEP, batch_step, epoch_step
from hekat.scheme.bfv import PrivateKey as LatticePrivateKey
from hekat.scheme.bfv import ProductLayout, open_products
from hekat.scheme.bfv import generate_keys as generate_lattice_keys
from hekat.scheme.paillier import Ciphertexts, PrivateKey, decrypt, generate_keys
from hekat.scheme.paillier.row_packing import RowPacking, open_slots
from hekat.wire import from_bytes, to_bytes
from hekat.wire.bfv import read_masked


class _Opener(Protocol):
    def open(self, batches: list[bytes], counts: list[int], senders: tuple[str, ...]) -> list[LimbArray]:
        """The plaintexts of each party's bytes, as limbs (count, limbs). Raises ProtocolError for another count."""
        ...


def run_arbiter(channel: RecordedChannel, settings: VerticalLinearSettings, run: PartyRun) -> None:
    """Serve one run to its end."""
    start = channel.receive(settings.guest, START_STEP, StartMessage)
    layout = SumLayout.of(start, settings)
    opener = _make_opener(channel, settings, layout, run)
    if start.finished:
        return
    # The guest's intercept is a column of ones.
    counts = [(count + (index == 0)) * settings.column_count for index, count in enumerate(start.column_counts)]
    for epoch in range(start.epochs_done + 1, settings.training.epochs + 1):
        for batch in range(layout.batches):
            _open_gradients(channel, settings, run, opener, batch_step(epoch, batch), counts)
        _open_loss(channel, settings, run, opener, epoch_step(epoch))
        end = channel.receive(settings.guest, f"{epoch_step(epoch)}/{EPOCH_END}", EpochEndMessage)
        run.on_epoch(EpochRecord(epoch))
        if end.finished:
            return


def _make_opener(
    channel: RecordedChannel, settings: VerticalLinearSettings, layout: SumLayout, run: PartyRun
) -> _Opener:
    """The key pair, or nothing under protection `none`; tells all parties the public half."""
    if settings.protection == "none":
        channel.ledger.note("setup", NO_PROTECTION, "disclosed")
        opener: _Opener = _PlainOpener()
        public_key = b""
    elif settings.protection == "lattice":
        with run.stopwatch.measure(KEYS):
            lattice_pair = generate_lattice_keys()
        products = layout.products(lattice_pair.public.parameters)
        described = describe_lattice(lattice_pair.public, products)
        channel.ledger.note("setup", f"made and keeps the private half of {described}", "public")
        opener = _LatticeKeyHolder(lattice_pair.private, products)
        public_key = to_bytes(lattice_pair.public)
    else:
        with run.stopwatch.measure(KEYS):
            pair = run.key_pair or generate_keys(settings.key_bits)
        check_key_size(pair.public, settings)
        channel.ledger.note("setup", f"made a Paillier key of {settings.key_bits} bits and keeps it", "public")
        opener, public_key = _KeyHolder(pair.private, layout.packing(pair.public)), to_bytes(pair.public)
    for party in settings.parties:
        channel.send(party, KEY_STEP, PublicKeyMessage(public_key=public_key))
    return opener


def _open_gradients(
    channel: RecordedChannel,
    settings: VerticalLinearSettings,
    run: PartyRun,
    opener: _Opener,
    step: str,
    counts: list[int],
) -> None:
    message_type = GRADIENTS[settings.protection]
    received = [channel.receive(party, f"{step}/gradient", message_type).values for party in settings.parties]
    with run.stopwatch.measure(DECRYPT):
        opened = opener.open(received, counts, settings.parties)
    for party, values in zip(settings.parties, opened, strict=True):
        channel.send(party, f"{step}/opened", OpenedGradientMessage(values=values))


def _open_loss(
    channel: RecordedChannel, settings: VerticalLinearSettings, run: PartyRun, opener: _Opener, step: str
) -> None:
    received = channel.receive(settings.guest, f"{step}/loss", LOSSES[settings.protection]).values
    with run.stopwatch.measure(DECRYPT):
        (opened,) = opener.open([received], [1], (settings.guest,))
    channel.send(settings.guest, f"{step}/opened-loss", OpenedLossMessage(values=opened))


def _check_count(party: str, got: int, expected: int) -> None:
    if got != expected:
        raise ProtocolError(
            f"{party} asks for other numbers to be opened than its gradient has",
            expected=str(expected),
            got=str(got),
            cure="find out what runs there: the arbiter opens nothing else",
        )


class _KeyHolder:
    """Opens the middle slot of all parties' ciphertexts in one batch, so that all cores and lanes have work."""

    def __init__(self, key: PrivateKey, packing: RowPacking) -> None:
        self._key, self._packing = key, packing

    def open(self, batches: list[bytes], counts: list[int], senders: tuple[str, ...]) -> list[LimbArray]:
        parts = [from_bytes(data, Ciphertexts, public_key=self._key.public).reshape(-1) for data in batches]
        for part, count, sender in zip(parts, counts, senders, strict=True):
            _check_count(sender, part.size, count)
        opened = decrypt(self._key, Ciphertexts.concatenate(parts)).limbs
        opened = open_slots(opened, self._key.public, self._packing)
        return [np.ascontiguousarray(one) for one in np.split(opened, np.cumsum(counts)[:-1])]


class _LatticeKeyHolder:
    """Opens the one coefficient of each sum that is asked for, and tells its upper bits."""

    def __init__(self, key: LatticePrivateKey, layout: ProductLayout) -> None:
        self._key, self._layout = key, layout

    def open(self, batches: list[bytes], counts: list[int], senders: tuple[str, ...]) -> list[LimbArray]:
        opened = []
        for data, count, sender in zip(batches, counts, senders, strict=True):
            masked = read_masked(data, self._key.public)
            _check_count(sender, masked.count, count)
            values = open_products(self._key, masked, self._layout)
            opened.append(limbs_from_ints(values, limbs_for_bits(self._layout.opened_bits)))
        return opened


class _PlainOpener:
    """Gives back what it gets: under protection `none` there is nothing to open."""

    def open(self, batches: list[bytes], counts: list[int], senders: tuple[str, ...]) -> list[LimbArray]:
        opened = [plain_limbs(data, sender) for data, sender in zip(batches, senders, strict=True)]
        for part, count, sender in zip(opened, counts, senders, strict=True):
            _check_count(sender, len(part), count)
        return opened
