"""The role of the arbiter: it holds the key and no rows, and opens the masked numbers of guest and hosts.

    1. hear from the guest how many rows and columns there are; make the key pair; send the public half, with a digest
       of what the guest said
    2. each batch: open the masked gradients of all parties, and return each party's own
    3. each epoch: open the masked loss for the guest; hear whether to go on

Every number that the arbiter opens is uniform mod n, or mod q under BFV. In a batch it opens as many numbers as a party
has columns, and no more: from each ciphertext the one slot with a sum over all rows, under BFV the coefficients that
the layout gives. It tells only the upper bits of a loss.
Source: Hardy et al. 2017, section 4; HAFLO, Fig. 2.
"""

from __future__ import annotations

from hekat.ledger import RecordedChannel
from hekat.protocol.vertical.key_size import check_key_size
from hekat.protocol.vertical_linear.arbiter.messages import (
    GRADIENTS,
    LOSSES,
    EpochEndMessage,
    OpenedGradientMessage,
    OpenedLossMessage,
    PublicKeyMessage,
    StartMessage,
)
from hekat.protocol.vertical_linear.arbiter.openers import Asked, BfvOpener, Opener, PaillierOpener, PlainOpener
from hekat.protocol.vertical_linear.arbiter.opening import (
    KEY_STEP,
    NO_PROTECTION,
    describe_bfv_key,
)
from hekat.protocol.vertical_linear.arbiter.same_start import digest_start
from hekat.protocol.vertical_linear.arbiter.sum_layout import SumLayout
from hekat.protocol.vertical_linear.loss_bits import describe_told_loss
from hekat.protocol.vertical_linear.party_run import EpochRecord, PartyRun
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.steps import EPOCH_END, START_STEP, batch_step, epoch_step
from hekat.protocol.vertical_linear.timing_labels import DECRYPT, KEYS
from hekat.scheme.bfv import generate_keys as generate_bfv_keys
from hekat.scheme.paillier import generate_keys
from hekat.wire import to_bytes

THE_LOSS: Asked = (1, 1)


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
) -> Opener:
    """Make the key pair, or nothing under protection `none`; send all parties the public half and `start_digest`."""
    if settings.protection == "none":
        channel.ledger.note("setup", NO_PROTECTION, "disclosed")
        opener: Opener = PlainOpener()
        public_key = b""
    elif settings.protection == "lattice":
        with run.stopwatch.measure(KEYS):
            bfv_pair = generate_bfv_keys()
        products = layout.products(bfv_pair.public.parameters)
        described = describe_bfv_key(bfv_pair.public, products)
        channel.ledger.note("setup", f"made and keeps the private half of {described}", "public")
        opener = BfvOpener(bfv_pair.private, products)
        public_key = to_bytes(bfv_pair.public)
    else:
        with run.stopwatch.measure(KEYS):
            pair = run.key_pair or generate_keys(settings.key_bits)
        check_key_size(pair.public, settings.key_bits, channel.party)
        channel.ledger.note("setup", f"made a Paillier key of {settings.key_bits} bits and keeps it", "public")
        opener, public_key = PaillierOpener(pair.private, layout.packing(pair.public)), to_bytes(pair.public)
    for party in settings.parties:
        channel.send(party, KEY_STEP, PublicKeyMessage(public_key=public_key, start_digest=start_digest))
    return opener


def _open_gradients(
    channel: RecordedChannel,
    settings: VerticalLinearSettings,
    run: PartyRun,
    opener: Opener,
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
    channel: RecordedChannel, settings: VerticalLinearSettings, run: PartyRun, opener: Opener, step: str, cut_bits: int
) -> None:
    received = channel.receive(settings.guest, f"{step}/loss", LOSSES[settings.protection]).values
    with run.stopwatch.measure(DECRYPT):
        (opened,) = opener.open([received], [THE_LOSS], (settings.guest,), cut_bits)
    channel.send(settings.guest, f"{step}/opened-loss", OpenedLossMessage(values=opened))


def _note_openings(
    channel: RecordedChannel, settings: VerticalLinearSettings, start: StartMessage, asked: list[Asked]
) -> None:
    """Note how many numbers the arbiter opens: a party that departs from the protocol has so many of its own choice
    opened."""
    counts = [f"{m * k} for {party}" for party, (m, k) in zip(settings.parties, asked, strict=True)]
    channel.ledger.note("setup", f"opens masked numbers in every batch: {', '.join(counts)}", "public")
    channel.ledger.note("setup", describe_told_loss(start.row_count, settings.training.epochs), "public")
