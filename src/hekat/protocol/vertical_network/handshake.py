"""The handshake: before anything is computed, guest and hosts hold each other to the same rows, batches and state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from hekat.errors import ProtocolError
from hekat.ledger import Ledger, RecordedChannel
from hekat.protocol.shares.share_array import ShareArray, add_shares, random_shares, subtract
from hekat.protocol.vertical_network.messages import FirstAddendMessage, HostReadyMessage, StartMessage
from hekat.protocol.vertical_network.network_settings import MOST_WIDTH
from hekat.protocol.vertical_network.party_run import NetworkRun
from hekat.protocol.vertical_network.row_plan import RowPlan
from hekat.protocol.vertical_network.run_odds import check_odds
from hekat.protocol.vertical_network.settings import GUEST_LAYER, SEALED, VerticalNetworkSettings
from hekat.protocol.vertical_network.steps import FIRST_STEP, READY_STEP, START_STEP, model_id_of

_SAME_JOB = "all parties must run the same job, on the same rows in the same order, and resume from the same epoch"


class KeyPairs(Protocol):
    """What a party computes private products with, as far as a handshake goes."""

    @property
    def public_key(self) -> bytes: ...

    def meet(self, peer: str, public_key: bytes) -> None:
        """Take a peer's public key. Raises KeyRefusedError."""
        ...


def call_hosts(
    channel: RecordedChannel,
    settings: VerticalNetworkSettings,
    run: NetworkRun,
    plan: RowPlan,
    row_count: int,
    own_width: int,
    arithmetic: KeyPairs,
) -> StartMessage:
    """The guest's handshake: hear all hosts, check them, tell each how training begins. Raises ProtocolError."""
    widths = [own_width]
    for host in settings.hosts:
        ready = channel.receive(host, READY_STEP, HostReadyMessage)
        expected = settings.network.width_of(host)
        _check(
            host,
            channel.party,
            ("rows", f"{row_count:,}", f"{ready.row_count:,}"),
            ("batches", plan.digest.hex()[:16], ready.plan.hex()[:16]),
            ("epochs done", str(run.epochs_done), str(ready.epochs_done)),
            ("model", run.model_id or "none", ready.model_id or "none"),
        )
        if settings.host_bottom == "source":
            _check_width(host, ready.width)
        else:
            _check(host, channel.party, ("width of its bottom", str(expected), str(ready.width)))
        arithmetic.meet(host, ready.public_key)
        widths.append(ready.width)
    start = StartMessage(
        row_count,
        widths,
        run.epochs_done,
        _next_id(channel, settings, run),
        run.had_ended(settings.training.epochs),
        arithmetic.public_key,
    )
    for host in settings.hosts:
        channel.send(host, START_STEP, start)
    return start


def answer_guest(
    channel: RecordedChannel,
    settings: VerticalNetworkSettings,
    run: NetworkRun,
    plan: RowPlan,
    row_count: int,
    width: int,
    arithmetic: KeyPairs,
) -> StartMessage:
    """A host's handshake. Raises ProtocolError where the guest begins otherwise than this host."""
    guest = settings.guest
    ready = HostReadyMessage(row_count, plan.digest, width, run.epochs_done, run.model_id, arithmetic.public_key)
    channel.send(guest, READY_STEP, ready)
    start = channel.receive(guest, START_STEP, StartMessage)
    own = settings.parties.index(channel.party)
    _check(
        guest,
        channel.party,
        ("rows", f"{row_count:,}", f"{start.row_count:,}"),
        ("parties", str(len(settings.parties)), str(len(start.widths))),
        ("epochs done", str(run.epochs_done), str(start.epochs_done)),
        ("model", _next_id(channel, settings, run), start.model_id),
        ("end of the training", str(run.had_ended(settings.training.epochs)), str(start.finished)),
    )
    _check(guest, channel.party, ("width of this host", str(width), str(start.widths[own])))
    for host, other in zip(settings.hosts, start.widths[1:], strict=True):
        _check_width(host, other)
    # A sealed network has a column of ones at the guest.
    if not (settings.form == SEALED) <= start.widths[0] <= MOST_WIDTH:
        _check_width(guest, start.widths[0])
    arithmetic.meet(guest, start.public_key)
    return start


def _next_id(channel: RecordedChannel, settings: VerticalNetworkSettings, run: NetworkRun) -> str:
    """The name of the model from here on: of this session, so that shares of two that went on from one state never
    meet."""
    return run.model_id if run.had_ended(settings.training.epochs) else model_id_of(channel.session_id)


def widths_of(settings: VerticalNetworkSettings, start: StartMessage) -> dict[str, int]:
    """m by host."""
    return dict(zip(settings.hosts, start.widths[1:], strict=True))


def split_weights(channel: RecordedChannel, guest: str, drawn: ShareArray) -> ShareArray:
    """The host's addend: its own first weights less a uniform array, which the guest is sent."""
    addend = random_shares(drawn.shape[:-1])
    channel.send(guest, FIRST_STEP, FirstAddendMessage(addend))
    return subtract(drawn, addend)


def take_addend(channel: RecordedChannel, host: str, drawn: ShareArray) -> ShareArray:
    """The guest's addend: its own first weights and the host's uniform array. Raises ProtocolError for others."""
    addend = channel.receive(host, FIRST_STEP, FirstAddendMessage).addend
    if addend.shape != drawn.shape or addend.dtype != np.uint64:
        raise ProtocolError(
            f"{host} sent another addend of weights than the job has room for",
            expected=f"shape {drawn.shape}",
            got=f"shape {addend.shape}",
            cure=_SAME_JOB,
        )
    return add_shares(drawn, addend)


def note_run(
    ledger: Ledger,
    settings: VerticalNetworkSettings,
    run: NetworkRun,
    plan: RowPlan,
    widths: Mapping[str, int],
) -> None:
    """Note what the run opens beside its messages' own words, its rate as units have it, and its odds.

    Raises BoundError as `check_odds`.
    """
    shape, training = settings.network, settings.training
    if settings.protection == "none":
        ledger.note("setup", "protection is NONE: features, slopes and weights leave unencrypted", "disclosed")
    told = ", ".join(
        f"{min(width, shape.units * training.epochs)} of {width} of {name}" for name, width in widths.items()
    )
    ledger.note(
        "setup",
        f"outputs tell {settings.guest} directions of features, but for a rotation, by the end of the run: {told}",
        "disclosed",
    )
    if settings.form == GUEST_LAYER:
        ledger.note(
            "setup",
            f"form guest_layer, TO COMPARE: {settings.guest} learns outputs of each host by themselves, and gradients "
            "of their weights under noise that is not uniform",
            "disclosed",
        )
    if settings.host_bottom == "trained":
        bound = "nothing bounds that" if settings.label_privacy is None else "label privacy bounds that"
        ledger.note("setup", f"slopes of features tell hosts the labels of {settings.guest}: {bound}", "disclosed")
        told = " and ".join(settings.parties)
        ledger.note(
            "setup", f"slopes of features tell each host of columns of {told}: nothing bounds that", "disclosed"
        )
    rate = training.taken_rate(plan.most_rows)
    ledger.note(
        "setup", f"weights of hosts move at a rate of {rate:.9g} in a batch of {plan.most_rows:,} rows", "public"
    )
    steps = (training.epochs - run.epochs_done) * (len(plan.batches) + 1)
    check_odds(ledger, settings, list(widths.values()), max(1, steps), plan.most_rows)


def _check(peer: str, party: str, *compared: tuple[str, str, str]) -> None:
    for what, expected, got in compared:
        if expected != got:
            raise ProtocolError(
                f"{peer} begins with other {what} than {party}", expected=expected, got=got, cure=_SAME_JOB
            )


def _check_width(peer: str, width: int) -> None:
    if not 1 <= width <= MOST_WIDTH:
        raise ProtocolError(
            f"{peer} comes with features that the interactive layer cannot take",
            expected=f"1 to {MOST_WIDTH}",
            got=f"{width:,}",
            cure="use host_bottom = 'frozen' with a network.host_width in this range",
        )
