"""The session of ONE role: its own private key, the others' public keys, its sealed channel, ledger and stopwatch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TypeVar

from hekat.channel import Channel, PartyKey, PartyPublicKey, SealedChannel
from hekat.channel.traffic import Traffic
from hekat.ledger import Ledger, RecordedChannel
from hekat.protocol.stopwatch import Stopwatch

T = TypeVar("T")

LEDGER_FOLDER = "ledger"
PARTIES_FILE = "parties.json"


@dataclass(frozen=True)
class SessionTerms:
    """What all roles of a run agree on before they meet; no secret is in it.

    `public_keys` has every role's, by name. `job_digest` has 32 bytes.
    """

    run_id: str
    protocol: str
    job_digest: bytes
    public_keys: Mapping[str, PartyPublicKey]


@dataclass
class RoleSession:
    """One role's session, played once; `ledger_path` None keeps the ledger in memory.

    After `play`, at whatever end, `traffic` holds what the role sent and received by (peer, step), sealed and counted
    with hellos and signatures, and `ledger` its ledger.
    """

    terms: SessionTerms
    key: PartyKey = field(repr=False)
    ledger_path: Path | None = None
    stopwatch: Stopwatch = field(default_factory=Stopwatch)
    traffic: Mapping[tuple[str, str], Traffic] = field(default_factory=dict)
    ledger: Ledger | None = None
    """None until the session is open."""

    @property
    def sent_bytes(self) -> int:
        """Sealed bytes that the role sent, hellos and signatures included."""
        return sum(one.sent_bytes for one in self.traffic.values())

    @property
    def received_bytes(self) -> int:
        """Sealed bytes that the role received, hellos and signatures included."""
        return sum(one.received_bytes for one in self.traffic.values())

    def play(
        self,
        channel: Channel,
        role: Callable[[RecordedChannel], T],
        before_confirmed: Callable[[RecordedChannel], None] | None = None,
        *,
        counts_rounds: bool = True,
        pairs_later: bool = False,
    ) -> T:
        """What `role` returns, played over a session that is opened here and closed at the end.

        `before_confirmed` and `pairs_later` are as in `SealedChannel.open_session`; what the first sends is in the
        ledger, even where no session opens then. Without `counts_rounds`, `traffic` has all rounds, or epochs and
        batches, under number 0: for roles whose single rounds nobody asks for.

        Raises SealError where the other roles are in another run, job or session or sign with other keys; what
        `Channel` and `role` raise.
        """
        with (
            SealedChannel(
                channel,
                self.key,
                self.terms.public_keys,
                run_id=self.terms.run_id,
                protocol=self.terms.protocol,
                job_digest=self.terms.job_digest,
                measure=self.stopwatch.measure,
                counts_rounds=counts_rounds,
            ) as sealed,
            ExitStack() as ledgers,
        ):
            self.traffic = sealed.traffic

            @cache
            def recorded() -> RecordedChannel:
                """Over the session's ledger, made once the session has an id."""
                self.ledger = ledgers.enter_context(self._new_ledger(sealed))
                return RecordedChannel(sealed, self.ledger)

            def say() -> None:
                if before_confirmed is not None:
                    before_confirmed(recorded())

            sealed.open_session(before_confirmed=say, pairs_later=pairs_later)
            return role(recorded())

    def _new_ledger(self, sealed: SealedChannel) -> Ledger:
        terms = self.terms
        return Ledger(
            self.ledger_path, sealed.party, self.key, sealed.session_id, run_id=terms.run_id, protocol=terms.protocol
        )
