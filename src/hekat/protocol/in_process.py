"""Plays any set of roles in this process: a thread for each, and one turn that the role which computes holds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TypeVar

from hekat.channel import Channel, PartyKey, PartyPublicKey, run_parties
from hekat.channel.computing_turn import ComputingTurn, end_own_pool
from hekat.channel.in_process import DEFAULT_TIMEOUT_S
from hekat.errors import PartyLostError
from hekat.protocol.role_session import RoleSession, SessionTerms

T = TypeVar("T")


def play_in_process(
    roles: Mapping[str, Callable[[Channel], T]],
    *,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    may_drop_out: Collection[str] = (),
    on_dropout: Callable[[PartyLostError], None] | None = None,
    on_stop: Callable[[], None] | None = None,
    turn: ComputingTurn | None = None,
) -> dict[str, T]:
    """The results of the roles, by name; each plays as on a machine of its own, except that roles take turns.

    Roles share nothing but the hub between their channels and the turn, so that the seconds which a role measures are
    as on a machine to itself. Raises and calls back as `run_parties`.
    """
    # The caller's, which computes nothing meanwhile.
    end_own_pool()
    return run_parties(
        roles,
        timeout_s=timeout_s,
        may_be_lost=may_drop_out,
        on_lost=on_dropout,
        on_stop=on_stop,
        turn=turn or ComputingTurn(),
    )


def make_sessions(
    keys: Mapping[str, PartyKey],
    *,
    run_id: str,
    protocol: str,
    job_digest: bytes,
    ledger_folder: Path | None = None,
    public_keys: Mapping[str, PartyPublicKey] | None = None,
) -> dict[str, RoleSession]:
    """A session for each role of `keys`, where one process holds them all.

    `public_keys` are those that a job states for every role; without them the public halves of `keys`. With a
    `ledger_folder` each role's ledger is NAME.jsonl in it.
    """
    terms = SessionTerms(run_id, protocol, job_digest, public_keys or {name: key.public for name, key in keys.items()})
    return {
        name: RoleSession(terms, key, None if ledger_folder is None else ledger_folder / f"{name}.jsonl")
        for name, key in keys.items()
    }
