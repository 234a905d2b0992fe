"""`hekat.federate`: a training loop of one's own at several parties, on one machine, every update encrypted."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from hekat.channel import Channel, PartyKey
from hekat.channel.computing_turn import ComputingTurn
from hekat.command_name import as_called
from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import PartyLostError, PartyStoppedError
from hekat.ledger.ledger_files import pack_ledgers
from hekat.own_loop.arguments import (
    as_budgets,
    as_folder,
    as_names,
    as_number,
    as_text,
    as_truth,
    as_whole_number,
    check_code,
)
from hekat.own_loop.costs import Costs, RoundRecord, cost_rounds
from hekat.own_loop.ended_run import Losses, root_cause
from hekat.own_loop.loop_roles import LoopRoles
from hekat.own_loop.party import Party
from hekat.own_loop.private.loop_budgets import LoopBudgets
from hekat.own_loop.run_folder import COSTS_FILE, make_folder, write_public_keys
from hekat.own_loop.run_notes import Notes
from hekat.own_loop.show_costs import describe, describe_html, tables_of
from hekat.own_loop.turns import Turns
from hekat.progress_line import ProgressLine
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.role_session import LEDGER_FOLDER, RoleSession
from hekat.protocol.secure_sum.index_sets.settings import KeepBy, KeepSettings
from hekat.protocol.secure_sum.masked.upload_state import UploadState, open_upload_state
from hekat.protocol.secure_sum.settings import Clipping, CodecSettings, Opening, Protection, SumSettings
from hekat.scheme.paillier import KeyPair, generate_keys
from hekat.state import replace_file

PROTOCOL = "horizontal-loop"
STATE_FOLDER = "state"
LOUD_NONE = "PROTECTION IS NONE: the aggregator sees every party's update and weight in the clear"

WITH_RUN = (
    "one process plays all parties, and holds every update anyway: what was opened is known to this run alone, and "
    "another one with other parties may open sums that differ by somebody's update"
)

_log = logging.getLogger("hekat.own_loop")


@dataclass(frozen=True)
class Federated:
    """The outcome of a loop: each party's result, and the costs; `print` shows it.

    `results`: what each party's code returned; for a party that dropped out, the exception that says why.
    """

    results: dict[str, Any] = field(repr=False)
    costs: Costs = field(repr=False)
    title: str
    notes: tuple[str, ...] = ()
    lost: dict[str, str] = field(default_factory=dict)
    """By party, where and why it dropped out; the others went on."""
    folder: Path | None = None

    def __str__(self) -> str:
        return describe(tables_of(self.costs), self.title, self._lines())

    def _repr_html_(self) -> str:
        return describe_html(tables_of(self.costs), self.title, self._lines())

    def _lines(self) -> list[str]:
        lines = [f"LOST {why}" for why in self.lost.values()] + list(self.notes)
        return lines + ([as_called(f"ledgers: hekat audit {self.folder}")] if self.folder is not None else [])


def federate(
    play: Callable[[Party], Any],
    parties: Sequence[str],
    *,
    weight_max: int = 2**20,
    protection: Protection = "lattice",
    opening: Opening = "committee",
    value_bits: int = 16,
    clipping: Clipping = "adaptive",
    alpha: float | None = None,
    max_norm: float | None = None,
    keep: float = 1.0,
    keep_by: KeepBy = "vote",
    aggregator: str = "aggregator",
    authority: str | None = None,
    key_bits: int = 3072,
    allow_two_parties: bool = False,
    budgets: LoopBudgets | None = None,
    folder: str | PathLike[str] | None = None,
    progress: bool | None = None,
) -> Federated:
    """Run `play(party)` once for each party, in this process, and average what they pass to `party.aggregate`.

    Each party's code runs in a thread of its own, one party's at a time, in the order of `parties`; messages between
    roles are sealed and signed. Where a party fails and the protection bears drop-outs, the others go on, and its
    result is what it raised.

    Args:
        play: the code of one party; it is given a `Party`, and what it returns is the party's result.
        parties: their names, three or more.
        weight_max: a public bound on any party's weight, 1 to 2^40 - 1.
        protection: "lattice", "paillier" or "none", as in a job.
        opening: who opens sums under "lattice": "committee", "authority" or "shared".
        value_bits: bits of a value, 1 to 32.
        clipping: "adaptive", "fixed" or "daciq".
        alpha: the bound for "fixed", the first bound for "adaptive"; None: found from encrypted counts.
        max_norm: the greatest L2 norm of a party's change of its state, all tensors together: a longer one is scaled
            down to it, and a longer mean is used by nobody. Such a loop begins with `start_from`. None: no bound.
        keep: the share of all values that a party sends in a round, above 0 to 1; what stays at home is added to its
            next change. Below 1 such a loop begins with `start_from`.
        keep_by: how parties agree which values these are: "vote", "top_k" or "random_k".
        aggregator: the name of the role that adds.
        authority: the name of the role that opens, for opening "authority".
        key_bits: bits of the Paillier key, for protection "paillier".
        allow_two_parties: whether two parties may learn each other's update.
        budgets: `hekat.site_budgets("site.toml")`: every noised mean of a party's rows is charged to its budget, before
            anything of it leaves, and sums of them without noise are refused. None: epsilon counts this loop alone.
        folder: new or empty; afterwards it holds the ledgers (`hekat audit FOLDER`), upload numbers and costs.
            None keeps nothing; the ledgers lie in memory till the end then, which for a hundred rounds of three parties
            takes about 10 MB.
        progress: whether to show on stderr how many rounds are done, once the run takes longer than two seconds; None:
            where stderr is a terminal, and in a notebook.

    Returns:
        Each party's result, who dropped out, and what it cost.

    Raises:
        InputError, PolicyError: arguments that cannot be, before anything starts.
        ProtocolError: parties call for different things.
        LongSumError: a mean was longer than `max_norm` allows.
        BudgetError: a noised mean would pass a party's budget; nothing of it has left.
        Exception: what a party's code raised, where the others cannot go on.

    Examples:
        >>> def play(party):
        ...     rows = {"north": 1, "lake": 2, "county": 1}[party.name]
        ...     return party.aggregate({"w": np.full(2, float(rows))}, weight=rows)
        >>> run = hekat.federate(play, ["north", "lake", "county"], weight_max=2, clipping="fixed", alpha=2.0)
        >>> run.results["north"]["w"].round(3)
        array([1.5, 1.5])
    """
    start = time.perf_counter()
    check_code(play)
    if progress is not None:
        as_truth("progress", progress)
    place = as_folder(folder)
    for name, text in (("protection", protection), ("opening", opening), ("clipping", clipping)):
        as_text(name, text)
    if authority is None and protection == "lattice" and opening == "authority":
        authority = "authority"
    settings = SumSettings(
        parties=as_names(parties),
        aggregator=as_text("aggregator", aggregator),
        weight_max=as_whole_number("weight_max", weight_max),
        protection=protection,
        opening=opening,
        authority=None if authority is None else as_text("authority", authority),
        key_bits=as_whole_number("key_bits", key_bits),
        codec=CodecSettings(
            value_bits=as_whole_number("value_bits", value_bits),
            clipping=clipping,
            alpha=None if alpha is None else as_number("alpha", alpha),
            max_norm=0.0 if max_norm is None else as_number("max_norm", max_norm),
        ),
        allow_two_parties=as_truth("allow_two_parties", allow_two_parties),
        keep=KeepSettings(as_number("keep", keep), as_text("keep_by", keep_by)),  # type: ignore[arg-type]
    )
    if budgets is not None:
        as_budgets(budgets).check(settings.parties)
    notes = Notes()
    if protection == "lattice":
        notes.add(WITH_RUN)
    if protection == "none":
        _log.warning(LOUD_NONE)
    line = ProgressLine(f"{len(settings.parties)} parties train", shown=progress)
    with line, _open_run(settings, place) as (sessions, states, path):
        key_pair = _make_key(settings, sessions[settings.leader])
        turn = ComputingTurn()
        turns = Turns(settings.parties, turn, lambda party: line.say(f"{party} computes"))
        roles = LoopRoles(
            settings,
            sessions,
            turns,
            states,
            key_pair,
            notes.add,
            on_round=partial(_tell, line),
            budgets=budgets or LoopBudgets(),
        )
        results, lost = _run(roles, play, turn)
        costs = Costs(
            rounds=cost_rounds(
                list(roles.records.values()), {name: sessions[name] for name in settings.parties}, settings.aggregator
            ),
            seconds={name: dict(session.stopwatch.seconds) for name, session in sessions.items()},
            wall_seconds=time.perf_counter() - start,
        )
        if path is not None:
            replace_file(path / COSTS_FILE, json.dumps(asdict(costs), indent=1).encode(), mode=0o644)
            pack_ledgers(path / LEDGER_FOLDER)
    return Federated(results, costs, _title(settings, costs), tuple(notes.texts), lost, path)


def _tell(line: ProgressLine, record: RoundRecord) -> None:
    line.reach(record.round, f"round {record.round} done")


def _run(roles: LoopRoles, play: Callable[[Party], Any], turn: ComputingTurn) -> tuple[dict[str, Any], dict[str, str]]:
    """Results and drop-outs by party; raises the party's own exception where its drop-out ended the run."""
    settings, losses, show_round = roles.settings, Losses(), roles.on_round

    def on_round(record: RoundRecord) -> None:
        show_round(record)
        losses.note_round(record)

    roles.on_round = on_round
    results: dict[str, Any] = {}
    ended: PartyLostError | PartyStoppedError | None = None

    def play_role(name: str, channel: Channel) -> Any:
        return roles.play_party(channel, play) if name in settings.parties else roles.play_server(channel)

    try:
        results = play_in_process(
            {name: partial(play_role, name) for name in settings.everyone},
            timeout_s=math.inf,
            may_drop_out=settings.parties if settings.bears_dropouts else (),
            on_dropout=losses.note_loss,
            on_stop=roles.turns.stop,
            turn=turn,
        )
    except (PartyLostError, PartyStoppedError) as stopped:
        ended = stopped
    if ended is not None or not any(name in results for name in settings.parties):
        # Outside the handler: what a party raised keeps the causes that it has, and gets no other.
        raise root_cause(roles.errors, ended)
    losses.tell()
    found = {name: results[name] if name in results else roles.errors[name] for name in settings.parties}
    return found, losses.described


@contextmanager
def _open_run(
    settings: SumSettings, folder: Path | None
) -> Iterator[tuple[dict[str, RoleSession], dict[str, UploadState], Path | None]]:
    """What the roles share, their states for upload numbers, and the folder; states lie elsewhere without one."""
    described = json.dumps(asdict(settings), sort_keys=True).encode()
    digest = hashlib.sha256(PROTOCOL.encode() + described).digest()
    keys = {name: PartyKey.generate() for name in settings.everyone}
    with ExitStack() as stack:
        place = (
            make_folder(folder, states=STATE_FOLDER)
            if folder is not None
            else Path(stack.enter_context(_temporary_folder()))
        )
        if folder is not None:
            write_public_keys(place, keys)
        states = {}
        if settings.protection == "lattice":
            for name in settings.everyone:
                if name != settings.aggregator:
                    # Without a folder the keys are in this process's memory alone: after a crash no role has them.
                    states[name] = open_upload_state(
                        place / STATE_FOLDER / name, digest, durable=folder is not None, with_run=True
                    )
                    stack.enter_context(states[name].uploads)
        run_id = f"loop-{secrets.token_hex(6)}"
        ledgers = None if folder is None else place / LEDGER_FOLDER
        sessions = make_sessions(keys, run_id=run_id, protocol=PROTOCOL, job_digest=digest, ledger_folder=ledgers)
        yield sessions, states, folder


def _temporary_folder() -> tempfile.TemporaryDirectory[str]:
    with disk_errors_as_state_errors("no folder for upload numbers can be made"):
        return tempfile.TemporaryDirectory(prefix="hekat-loop-")


def _make_key(settings: SumSettings, session: RoleSession) -> KeyPair | None:
    """The leader's key, made in the caller's thread: this can take a minute, and Ctrl-C reaches only this one."""
    if settings.protection != "paillier":
        return None
    with session.stopwatch.measure("keys"):
        return generate_keys(settings.key_bits)


def _title(settings: SumSettings, costs: Costs) -> str:
    count = len(costs.rounds)
    rounds = "1 round" if count == 1 else f"{count} rounds"
    opened = f", sums opened by {settings.opening}" if settings.protection == "lattice" else ""
    loud = f". {LOUD_NONE}" if settings.protection == "none" else ""
    if costs.clear_count:
        loud = f". {costs.clear_count:,} of {costs.value_count:,} VALUES SENT WERE IN THE CLEAR"
    kept = f", keep = {settings.keep.share:g} by {settings.keep.by}" if settings.keep.is_on else ""
    return f"{len(settings.parties)} parties, {rounds}{kept}, protection {settings.protection}{opened}{loud}"
