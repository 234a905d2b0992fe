"""Two parties that compare their sets: what each tells the other before it uses an id."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from hekat.errors import InputError, ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.psi.ids import MAX_ID_COUNT, Ids
from hekat.protocol.psi.messages import AnnouncementMessage
from hekat.protocol.psi.padding import padded_count
from hekat.protocol.psi.settings import IntersectionSettings
from hekat.protocol.stopwatch import Stopwatch
from hekat.rsa import KeyPair

# A peer computes on its whole list, and may serve others first. The channel reports a peer that leaves at once.
WAIT_S: Final = 3600.0
ANNOUNCE_STEP: Final = "announce"
_DOMAIN: Final = b"hekat/psi/pair/1"


@dataclass(frozen=True)
class IntersectionRun:
    """What a role's machine gives it; none of it changes the messages.

    `progress(what, done, total)` is called some times a second. `key_pair` replaces the fresh key of the answerer, in
    tests and benchmarks only: where a key signs in two runs, the asker of the second run can ask about the first.
    """

    stopwatch: Stopwatch
    progress: Callable[[str, int, int], None] | None = None
    key_pair: KeyPair | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Pair:
    """This party's side of one comparison. Counts are the lengths of the lists, padding included.

    `context` is the same at both parties and in no other run: both hash their ids under it.
    """

    channel: RecordedChannel
    peer: str
    own_count: int
    peer_count: int
    context: bytes
    run: IntersectionRun

    def report(self, what: str, done: int, total: int) -> None:
        """Report how far `what` is, where somebody listens."""
        if self.run.progress is not None:
            self.run.progress(what, done, total)


def meet(
    channel: RecordedChannel, ids: Ids, settings: IntersectionSettings, run: IntersectionRun, asker: str
) -> list[Pair]:
    """Announce this party to its peers and hear them; the asker's peers are all others, an answerer's is the asker.

    Raises InputError where ids are of different kinds, ProtocolError for other settings and for a size that is no rung.
    """
    asks = channel.party == asker
    peers = tuple(name for name in settings.parties if name != asker) if asks else (asker,)
    mine = AnnouncementMessage(settings_digest=settings.digest(), kinds=ids.kinds, padded_count=padded_count(len(ids)))
    for peer in peers:
        channel.send(peer, ANNOUNCE_STEP, mine)
    pairs = []
    for peer in peers:
        theirs = channel.receive(peer, ANNOUNCE_STEP, AnnouncementMessage, timeout_s=WAIT_S)
        _check_settings(theirs, mine, peer)
        _check_announcement(theirs, ids, peer)
        asker, answerer = (channel.party, peer) if asks else (peer, channel.party)
        context = context_of(channel.session_id, asker, answerer)
        pairs.append(Pair(channel, peer, mine.padded_count, theirs.padded_count, context, run))
    return pairs


def _check_settings(theirs: AnnouncementMessage, mine: AnnouncementMessage, peer: str) -> None:
    if theirs.settings_digest != mine.settings_digest:
        raise ProtocolError(
            f"party {peer} comes with other settings of this intersection",
            expected="the same guest, hosts, kind, learns, cardinality_only and key_bits at all parties",
            got="another digest of them",
            cure="give all parties the same job file",
        )


def _check_announcement(theirs: AnnouncementMessage, ids: Ids, peer: str) -> None:
    if theirs.kinds != ids.kinds:
        raise InputError(
            f"ids of parties {peer} and {ids.name} are of different kinds: no two could be equal",
            expected=_describe(ids.kinds),
            got=_describe(theirs.kinds),
            cure="give the same id columns in the same order at all parties, all as texts or all as whole numbers",
        )
    count = theirs.padded_count
    if not 1 <= count <= padded_count(MAX_ID_COUNT) or padded_count(count) != count:
        raise ProtocolError(
            f"party {peer} announced a list of a size that there is not",
            expected=f"a rung of the ladder, for at most {MAX_ID_COUNT:,} ids",
            got=f"{count:,}",
            cure="bring all parties to the same release",
        )


def _describe(kinds: tuple[str, ...]) -> str:
    shown = ", ".join(f"{kind:.20}" for kind in kinds[:8])
    return f"{len(kinds)} column{'s' * (len(kinds) != 1)} ({shown if shown.isprintable() else 'unreadable'})"


def context_of(session_id: bytes, asker: str, answerer: str) -> bytes:
    """SHA-256 of the session and both names, each with its length before it."""
    parts = (_DOMAIN, session_id, asker.encode(), answerer.encode())
    return hashlib.sha256(b"".join(len(part).to_bytes(8, "big") + part for part in parts)).digest()
