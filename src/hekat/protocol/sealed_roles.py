"""The roles of a run on one machine: each has its sealed channel, its ledger and its stopwatch; all share one turn."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from hekat.channel import Channel, PartyKey, PartyPublicKey, SealedChannel
from hekat.ledger import Ledger, RecordedChannel
from hekat.protocol.stopwatch import Stopwatch

T = TypeVar("T")

LEDGER_FOLDER = "ledger"
PARTIES_FILE = "parties.json"


@dataclass
class SealedRoles:
    """What the roles of one run share; `party_keys` names them all. `ledger_folder` None: ledgers stay in memory.

    `pinned` are the public keys that sessions hold everybody to; where it is empty, those of `party_keys`.
    """

    party_keys: Mapping[str, PartyKey]
    run_id: str
    protocol: str
    job_digest: bytes
    ledger_folder: Path | None = None
    stopwatches: dict[str, Stopwatch] = field(default_factory=dict)
    turn: threading.Lock = field(default_factory=threading.Lock)
    """Held by the role that computes; see `run_parties`."""
    pinned: Mapping[str, PartyPublicKey] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.party_keys:
            self.stopwatches.setdefault(name, Stopwatch())

    def play(
        self,
        channel: Channel,
        role: Callable[[RecordedChannel], T],
        after: Callable[[SealedChannel], None] = lambda sealed: None,
    ) -> T:
        """What the role returns; its session is open, and closed at the end. `after` is called at any end of it."""
        name = channel.party
        with self._seal(channel) as sealed:
            session = sealed.open_session()
            path = None if self.ledger_folder is None else self.ledger_folder / f"{name}.jsonl"
            try:
                with Ledger(
                    path, name, self.party_keys[name], session, run_id=self.run_id, protocol=self.protocol
                ) as ledger:
                    return role(RecordedChannel(sealed, ledger))
            finally:
                after(sealed)

    def _seal(self, channel: Channel) -> SealedChannel:
        pinned = self.pinned or {name: key.public for name, key in self.party_keys.items()}
        return SealedChannel(
            channel,
            self.party_keys[channel.party],
            pinned,
            run_id=self.run_id,
            protocol=self.protocol,
            job_digest=self.job_digest,
            measure=self.stopwatches[channel.party].measure,
        )
