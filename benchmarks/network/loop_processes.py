"""Hekat's rounds between forked processes: a federated loop over mailboxes, its roles as between organisations."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hekat.channel import PartyKey
from hekat.channel.mailbox import MailboxChannel
from hekat.own_loop.loop_roles import LoopRoles
from hekat.own_loop.party import Party
from hekat.own_loop.turns import Turns
from hekat.protocol.role_session import RoleSession, SessionTerms
from hekat.protocol.secure_sum.masked.upload_state import open_upload_state
from hekat.protocol.secure_sum.settings import CodecSettings, Protection, SumSettings
from network.forked_roles import RoleFigures, check_mean, play_forked, playing, resident_bytes, values_of
from network.shaped_link import LOOPBACK, Link, ShapedPost
from vertical.data import stored_keys

AGGREGATOR = "aggregator"
WEIGHT_MAX = 1000
_DIGEST = bytes(32)


@dataclass(frozen=True)
class LoopWork:
    """`rounds` sums of `value_count` values of `parties`; `drop_out` of them end in round 2, before they upload.

    `layout` is the codec's, "two_sign_bits" for BatchCrypt's under protection `paillier`, whose key has `key_bits`.
    """

    parties: tuple[str, ...]
    value_count: int
    rounds: int
    drop_out: tuple[str, ...] = ()
    link: Link = LOOPBACK
    lost_after_s: float = 30.0
    protection: Protection = "lattice"
    layout: str = "balanced"
    key_bits: int = 2048

    @property
    def settings(self) -> SumSettings:
        codec = CodecSettings(value_bits=16, layout=self.layout, clipping="fixed", alpha=1.0)
        return SumSettings(
            parties=self.parties, aggregator=AGGREGATOR, weight_max=WEIGHT_MAX, codec=codec,
            protection=self.protection, key_bits=self.key_bits,
        )  # fmt: skip

    @property
    def left(self) -> tuple[str, ...]:
        """The parties that play to the end."""
        return tuple(party for party in self.parties if party not in self.drop_out)


def play_loop(work: LoopWork) -> dict[str, RoleFigures]:
    """The figures of each role whose mean has been checked; one that left has none."""
    keys = {name: PartyKey.generate() for name in work.settings.everyone}
    figures = play_forked(keys, lambda role, place: _play_role(work, role, keys, place))
    check_mean(figures, work.parties, work.value_count, work.left)
    return figures


def _play_role(work: LoopWork, role: str, keys: dict[str, PartyKey], place: Path) -> None:
    settings = work.settings
    figures = RoleFigures(role)
    post = ShapedPost(place, role, work.link)
    channel = MailboxChannel(
        role, settings.everyone, post, run_id="bench", timeout_s=600.0, lost_after_s=work.lost_after_s,
        first_contact_s=600.0, may_be_lost=settings.parties if settings.bears_dropouts else (),
    )  # fmt: skip
    terms = SessionTerms("bench", "bench", _DIGEST, {name: key.public for name, key in keys.items()})
    session = RoleSession(terms, keys[role], place / f"{role}.jsonl")
    turns = Turns((role,) if role in settings.parties else ())
    pair = stored_keys(work.key_bits)[0] if work.protection == "paillier" and role == settings.leader else None
    with playing(post, channel, figures):
        if role in settings.parties:
            state = open_upload_state(place / "state" / role, _DIGEST, durable=False)
            with state.uploads:
                roles = LoopRoles(settings, {role: session}, turns, {role: state}, key_pair=pair)
                roles.play_party(channel, lambda party: _train(work, party, figures, post))
        else:
            with _sampling(channel, figures):
                LoopRoles(settings, {role: session}, turns).play_server(channel)


def _train(work: LoopWork, party: Party, figures: RoleFigures, post: ShapedPost) -> None:
    values = values_of(work.parties, party.name, work.value_count)
    figures.begin_rounds(post)
    for number in range(1, work.rounds + 1):
        if number == 2 and party.name in work.drop_out:
            os._exit(1)
        mean = party.aggregate({"update": values}, weight=WEIGHT_MAX)["update"]
        figures.end_round()
    figures.end_rounds(mean)


@contextmanager
def _sampling(channel: MailboxChannel, figures: RoleFigures) -> Iterator[None]:
    """Notes the aggregator's memory once a round, as it sends the first message of the next one: messages of two rounds
    alternate, since shares are dealt a round ahead."""
    send, newest = channel.send, 0

    def send_and_note(to: str, step: str, payload: bytes, *, timeout_s: float | None = None) -> None:
        nonlocal newest
        send(to, step, payload, timeout_s=timeout_s)
        kind, _, number = step.partition("/")[0].rpartition("-")
        if kind == "round" and int(number) > newest:
            if newest:
                figures.resident_bytes.append(resident_bytes())
            newest = int(number)

    channel.send = send_and_note  # type: ignore[method-assign]
    yield
    figures.resident_bytes.append(resident_bytes())
