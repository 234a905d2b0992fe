"""The role of guest or host in a training of a sealed network: both play the same steps, the guest has labels besides.

1. prepare columns, the guest's with a column of ones; agree on rows, batches and widths
2. split first weights: each party draws a matrix that the other never sees, and their sum is where training begins
3. each batch: shares of units, residuals, slopes and the gradient of all weights; each moves its share
4. each epoch: the guest opens the mean loss, and says whether another epoch follows; each saves its part

Source: Mohassel, Zhang 2017 (SecureML), section 4, for training in shares; cross products here are of one party's
lattice key, and squares stand in place of comparisons.
"""

from __future__ import annotations

import numpy as np

from hekat.data import Table, check_has_no_labels
from hekat.ledger import Ledger, RecordedChannel
from hekat.protocol.stop_rules import should_stop
from hekat.protocol.vertical.guest_labels import read_labels
from hekat.protocol.vertical_network.fixed_point import FEATURE_BITS, Rounding
from hekat.protocol.vertical_network.handshake import answer_guest, call_hosts
from hekat.protocol.vertical_network.messages import EpochEndMessage
from hekat.protocol.vertical_network.model_part import NetworkPart
from hekat.protocol.vertical_network.own_features import OwnFeatures, prepare_own_features
from hekat.protocol.vertical_network.party_run import NetworkRecord, NetworkRun, NetworkState
from hekat.protocol.vertical_network.row_plan import RowPlan, blocks_of
from hekat.protocol.vertical_network.sealed.inner_watch import InnerWatch
from hekat.protocol.vertical_network.sealed.loop import SealedLoop
from hekat.protocol.vertical_network.sealed.make_products import make_products
from hekat.protocol.vertical_network.sealed.opened_loss import told_loss
from hekat.protocol.vertical_network.sealed.own_columns import sealed_columns
from hekat.protocol.vertical_network.sealed.run_odds import check_sealed_odds
from hekat.protocol.vertical_network.sealed.scales import RATE_BITS
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings
from hekat.protocol.vertical_network.steps import EPOCH_END, epoch_step
from hekat.protocol.vertical_network.timing_labels import PLAIN
from hekat.protocol.vertical_network.trained_part import make_part


def run_sealed(
    channel: RecordedChannel, table: Table, settings: VerticalNetworkSettings, run: NetworkRun
) -> NetworkPart:
    """Train with the other party; returns this party's part of the model.

    Raises InputError, ProtocolError, BoundError as the roles of the other forms, DivergedError at the guest.
    """
    is_guest, watch = channel.party == settings.guest, InnerWatch(run.stopwatch)
    labels = None
    if not is_guest:
        check_has_no_labels(table)
    with watch.measure(PLAIN):
        if is_guest:
            labels = 2 * read_labels(table, settings).astype(np.int64) - 1
        own = prepare_own_features(channel, table, settings, run)
        rounding = Rounding(
            f"columns of {channel.party}",
            FEATURE_BITS,
            "standardise the columns, and limit their spreads by training.limit_spreads",
            run.warn,
        )
        columns = sealed_columns(own.columns, rounding, is_guest=is_guest)
    plan = RowPlan.of(len(table), settings.training)
    products = make_products(settings.protection, watch)
    meet = call_hosts if is_guest else answer_guest
    start = meet(channel, settings, run, plan, len(table), columns.shape[1], products)
    loop = SealedLoop(channel, settings, run, start, columns, labels, products, watch)
    _note_run(channel.ledger, settings, loop)
    epochs = run.epochs_done
    if not start.finished:
        epochs = _train(channel, settings, run, loop, own, rounding.end_epoch())
    arrays = own.arrays(with_state=False) | loop.arrays(with_state=False)
    return make_part(channel.party, settings, start, table, own, epochs, arrays)


def _train(
    channel: RecordedChannel,
    settings: VerticalNetworkSettings,
    run: NetworkRun,
    loop: SealedLoop,
    own: OwnFeatures,
    cut_share: float,
) -> int:
    """Train to the last epoch, or until the guest's loss gets no better; returns the number of epochs done."""
    resumed = run.resume_from
    losses = [] if resumed is None else list(resumed.losses)
    held_losses = [] if resumed is None else list(resumed.validation_losses)
    rate = settings.training.taken_rate(loop.plan.most_rows, RATE_BITS)
    epoch, finished = run.epochs_done, False
    while not finished:
        epoch += 1
        loss, held_loss = loop.train(epoch), loop.held_out(epoch)
        losses += [] if loss is None else [loss]
        held_losses += [] if held_loss is None else [held_loss]
        finished = _end_epoch(channel, settings, epoch, held_losses or losses)
        arrays = own.arrays(with_state=True) | loop.arrays(with_state=True)
        state = NetworkState(arrays, epoch, finished, tuple(losses), tuple(held_losses), loop.start.model_id)
        run.end_epoch(channel, state, NetworkRecord(epoch, loss, held_loss, cut_share, rate))
    return epoch


def _end_epoch(channel: RecordedChannel, settings: VerticalNetworkSettings, epoch: int, losses: list[float]) -> bool:
    """Whether training ends: the guest says so by the losses, which it alone has."""
    step, is_last = f"{epoch_step(epoch)}/{EPOCH_END}", epoch == settings.training.epochs
    if channel.party != settings.guest:
        return channel.receive(settings.guest, step, EpochEndMessage).finished or is_last
    finished = is_last or should_stop(losses, settings.training)
    channel.send(settings.hosts[0], step, EpochEndMessage(finished))
    return finished


def _note_run(ledger: Ledger, settings: VerticalNetworkSettings, loop: SealedLoop) -> None:
    """Note what the run opens, its rate as units have it, and its odds. Raises BoundError as `check_sealed_odds`."""
    training, plan = settings.training, loop.plan
    if settings.protection == "none":
        ledger.note("setup", "protection is NONE: columns, labels and weights follow from what leaves", "disclosed")
    for rows, what in ((plan.trained, "each epoch"), (plan.held_out, "held-out rows after each epoch")):
        if len(rows):
            told = told_loss(len(rows), training.epochs)
            ledger.note(
                "setup",
                f"form sealed: {settings.guest} learns the mean loss of {what}, in units of {2 * told.unit:.1e}; of "
                f"one that it makes another number it learns {told.opened_bits} bits",
                "disclosed",
            )
    ledger.note(
        "setup",
        f"form sealed: {settings.hosts[0]} learns when the training ends; all else stays in shares",
        "disclosed",
    )
    rate = training.taken_rate(plan.most_rows, RATE_BITS)
    ledger.note("setup", f"weights move at a rate of {rate:.9g} in a batch of {plan.most_rows:,} rows", "public")
    blocks = len(plan.batches) + len(blocks_of(len(plan.held_out), training.batch_rows))
    check_sealed_odds(ledger, loop.shape_of(plan.most_rows), training.epochs * blocks, training.momentum_units)
