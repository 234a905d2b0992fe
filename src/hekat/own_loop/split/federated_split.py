"""`hekat.federate_split`: loops of one's own for a network split by columns, on one machine, sealed and in shares."""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from hekat.channel import PartyKey
from hekat.command_name import as_called
from hekat.ledger.ledger_files import pack_ledgers
from hekat.own_loop.arguments import as_budgets, as_folder, as_number, as_text, as_truth, as_whole_number, check_code
from hekat.own_loop.private.loop_budgets import LoopBudgets
from hekat.own_loop.run_folder import COSTS_FILE, make_folder, write_public_keys
from hekat.own_loop.run_notes import Notes
from hekat.own_loop.show_costs import describe, describe_html
from hekat.own_loop.split.arguments import (
    as_roles,
    as_widths,
    check_bottom,
    check_row_count,
    check_waivers,
    named_arguments,
)
from hekat.own_loop.split.costs import SplitCosts, cost_epochs, tables_of
from hekat.own_loop.split.guest import SplitGuest
from hekat.own_loop.split.host import SplitHost
from hekat.own_loop.split.kept_states import STATE_FOLDER, KeptStates
from hekat.own_loop.split.split_roles import SplitRoles
from hekat.progress_line import ProgressLine
from hekat.protocol.in_process import make_sessions
from hekat.protocol.role_session import LEDGER_FOLDER
from hekat.protocol.vertical_network.network_settings import NetworkShape, NetworkTraining
from hekat.protocol.vertical_network.settings import HostBottom, Protection, VerticalNetworkSettings
from hekat.state import replace_file

PROTOCOL = "vertical_network-loop"
LOUD_NONE = "PROTECTION IS NONE: features, slopes (and so labels) and weights leave unencrypted"

_log = logging.getLogger("hekat.own_loop")


@dataclass(frozen=True)
class FederatedSplit:
    """The outcome of a loop of a split network: each party's result, and the costs; `print` shows it."""

    results: dict[str, Any] = field(repr=False)
    """What each party's code returned."""
    costs: SplitCosts = field(repr=False)
    title: str
    notes: tuple[str, ...] = ()
    folder: Path | None = None

    def __str__(self) -> str:
        return describe(tables_of(self.costs), self.title, self._lines())

    def _repr_html_(self) -> str:
        return describe_html(tables_of(self.costs), self.title, self._lines())

    def _lines(self) -> list[str]:
        return [*self.notes, *([as_called(f"ledgers: hekat audit {self.folder}")] if self.folder is not None else [])]


def federate_split(
    train_at_guest: Callable[[SplitGuest], Any],
    train_at_hosts: Mapping[str, Callable[[SplitHost], Any]],
    *,
    row_count: int,
    host_widths: int | Mapping[str, int],
    column_leak_accepted: str | None = None,
    label_leak_accepted: str | None = None,
    slope_leak_accepted: str | None = None,
    host_bottom: HostBottom = "frozen",
    units: int = 32,
    epochs: int = 10,
    batch_rows: int = 1024,
    shared_optimiser: str = "momentum",
    shared_rate: float = 0.0,
    momentum: float = 0.9,
    l2: float = 0.0,
    seed: int = 1,
    guest: str = "guest",
    protection: Protection = "lattice",
    budgets: LoopBudgets | None = None,
    folder: str | PathLike[str] | None = None,
    resume: str | PathLike[str] | None = None,
    progress: bool | None = None,
) -> FederatedSplit:
    """Train a network split by columns with loops of your own: each party's code once, in this process.

    z = the guest's own part + the sum over hosts of A_h W_h: `forward` gives it to the guest, `backward` moves each
    W_h, which lies in shares of the guest and its host. What comes before and after z is the parties' own, with any
    library and optimiser. Messages are sealed and signed; one party's code runs at a time.

    Args:
        train_at_guest: the code of the party with labels; it is given a `SplitGuest`.
        train_at_hosts: the code of each host by its name; it is given a `SplitHost`.
        row_count: the rows that all parties have, in one order.
        host_widths: m, the columns of each host's features, 1 to 256: one number, or by host.
        column_leak_accepted: "the guest may learn my columns but for a rotation", where each host says so: z tells as
            much of its features.
        label_leak_accepted: "the host may learn labels", where the guest says so; needed for bottoms that train. Slopes
            of labels that you replaced yourself tell no more than these: the loop cannot know, and notes the leak.
        slope_leak_accepted: "hosts may learn columns of the guest and of each other", where all parties say so; needed
            for bottoms that train.
        host_bottom: "frozen": a host's features of a row stay the same, and nothing opens to it; "trained": `backward`
            gives it the slopes of its features.
        units: k, the columns of z, 1 to 256.
        epochs: the most epochs; the guest may stop before.
        batch_rows: the most rows of a batch.
        shared_optimiser: "momentum" or "sgd", for the weights in shares.
        shared_rate: their rate; 0: by rule, 1.6 over the features of all hosts and at most 0.2, for half the mean
            squared error of targets of spread 1. The log loss takes four times as much.
        momentum: theirs, for "momentum".
        l2: their penalty.
        seed: draws the batches; public.
        guest: the guest's name.
        protection: "lattice", or "none" for a comparison on public data.
        budgets: `hekat.site_budgets("site.toml")`: the loop is refused where a party's rows have a budget that the site
            does not waive, since nothing here bears noise. None: rows without budgets.
        folder: new or empty; afterwards it holds the ledgers (`hekat audit FOLDER`), costs, and what each party goes on
            with after a stop: readable by its owner alone. None keeps nothing.
        resume: the `folder` of a run that stopped, or ended: all parties go on after the last epoch that each of them
            saved, with what their code gave `party.keep`; `folder` is another one then.
        progress: whether to show on stderr how many epochs are done, once the run takes longer than two seconds; None:
            where stderr is a terminal, and in a notebook.

    Returns:
        Each party's result, and what it cost.

    Raises:
        InputError, JobError: arguments that cannot be, or unlike the resumed run's, before anything
            starts.
        PolicyError: a party's rows have a privacy budget, before anything starts.
        StateError: there is nothing to resume, or a file of it is damaged.
        ProtocolError: parties call for different things, or in another order.
        Exception: what a party's code raised.

    Examples:
        >>> rng = np.random.default_rng(1)
        >>> mine, theirs = rng.uniform(-1, 1, (40, 1)), rng.uniform(-1, 1, (40, 2))
        >>> y = mine + theirs @ [[1.0], [-1.0]]
        >>> def train_at_guest(party):
        ...     for epoch in party.epochs():
        ...         for rows in party.batches():
        ...             z = party.forward(mine[rows])
        ...             party.backward((z - y[rows]) / len(rows))  # of half the mean squared error
        ...     return float(np.mean((party.evaluate(mine) - y) ** 2))
        >>> def train_at_host(party):
        ...     for epoch in party.epochs():
        ...         for rows in party.batches():
        ...             party.forward(theirs[rows])
        ...             party.backward()
        ...     party.evaluate(theirs)
        >>> run = hekat.federate_split(
        ...     train_at_guest,
        ...     {"lab": train_at_host},
        ...     row_count=40,
        ...     host_widths=2,
        ...     units=1,
        ...     batch_rows=20,
        ...     shared_optimiser="sgd",
        ...     shared_rate=1.0,
        ...     column_leak_accepted="the guest may learn my columns but for a rotation",
        ... )
        >>> run.results["guest"] < 0.01
        True
    """
    start = time.perf_counter()
    with named_arguments():
        check_code(train_at_guest, "train_at_guest")
        codes = as_roles(train_at_hosts, as_text("guest", guest))
        for host, code in codes.items():
            check_code(code, f"train_at_hosts[{host!r}]")
        if progress is not None:
            as_truth("progress", progress)
        place, earlier = as_folder(folder), as_folder(resume, "resume")
        rows = check_row_count(row_count)
        check_bottom(host_bottom)
        check_waivers(column_leak_accepted, label_leak_accepted, slope_leak_accepted, host_bottom)
        settings = VerticalNetworkSettings(
            guest,
            tuple(codes),
            task="regression",
            protection=protection,
            host_bottom=host_bottom,
            network=NetworkShape(
                units=as_whole_number("units", units), host_widths=as_widths(host_widths, tuple(codes))
            ),
            training=NetworkTraining(
                epochs=as_whole_number("epochs", epochs),
                batch_rows=as_whole_number("batch_rows", batch_rows),
                shared_optimiser=as_text("shared_optimiser", shared_optimiser),
                shared_rate=as_number("shared_rate", shared_rate),
                momentum=as_number("momentum", momentum),
                l2=as_number("l2", l2),
                seed=as_whole_number("seed", seed),
            ),
            rotation_accepted=column_leak_accepted,
            labels_accepted=label_leak_accepted,
            slopes_accepted=slope_leak_accepted,
        )
        if budgets is not None:
            as_budgets(budgets).check(settings.everyone, "hekat.federate_split")
            budgets.check_waived(settings.everyone)
    notes, digest = _notes_of(settings), _digest(settings, rows)
    resumed = None if earlier is None else KeptStates(earlier, digest).load(settings.everyone)
    for party, state in (resumed or {}).items():
        if not state.own:
            notes.add(f"{party} had kept nothing of its own: its code goes on with what it begins with")
    path = None if place is None else make_folder(place, states=STATE_FOLDER)
    keys = {name: PartyKey.generate() for name in settings.everyone}
    if path is not None:
        write_public_keys(path, keys)
    sessions = make_sessions(
        keys,
        run_id=f"loop-{secrets.token_hex(6)}",
        protocol=PROTOCOL,
        job_digest=digest,
        ledger_folder=None if path is None else path / LEDGER_FOLDER,
    )
    with ProgressLine(f"{len(settings.parties)} parties train", shown=progress) as line:
        kept = None if path is None else KeptStates(path, digest)
        roles = SplitRoles(
            settings, rows, {guest: train_at_guest, **codes}, sessions, notes, line, kept, resumed, budgets
        )
        results = roles.play()
    costs = SplitCosts(
        epochs=cost_epochs(roles.cut_shares, sessions),
        seconds={name: dict(session.stopwatch.seconds) for name, session in sessions.items()},
        sent_bytes={name: session.sent_bytes for name, session in sessions.items()},
        wall_seconds=time.perf_counter() - start,
    )
    if path is not None:
        replace_file(path / COSTS_FILE, json.dumps(asdict(costs), indent=1).encode(), mode=0o644)
        pack_ledgers(path / LEDGER_FOLDER)
    return FederatedSplit(results, costs, _title(settings, costs), tuple(notes.texts), path)


def _notes_of(settings: VerticalNetworkSettings) -> Notes:
    """What opens to whom, which the result says beside its costs."""
    notes = Notes()
    notes.add(f"{settings.guest} learns features of {', '.join(settings.hosts)} but for a rotation: accepted in words")
    if settings.host_bottom == "trained":
        notes.add(
            f"{', '.join(settings.hosts)} learn slopes of their features, and so labels of {settings.guest} and "
            "something of the others' columns: nothing in Hekat bounds that in a loop of your own"
        )
    if settings.protection == "none":
        _log.warning(LOUD_NONE)
    return notes


def _digest(settings: VerticalNetworkSettings, row_count: int) -> bytes:
    described = json.dumps([row_count, asdict(settings)], sort_keys=True).encode()
    return hashlib.sha256(PROTOCOL.encode() + described).digest()


def _title(settings: VerticalNetworkSettings, costs: SplitCosts) -> str:
    count = len(costs.epochs)
    epochs = "1 epoch" if count == 1 else f"{count} epochs"
    loud = f". {LOUD_NONE}" if settings.protection == "none" else ""
    hosts = "1 host" if len(settings.hosts) == 1 else f"{len(settings.hosts)} hosts"
    return f"{settings.guest} and {hosts}, {epochs}, protection {settings.protection}{loud}"
