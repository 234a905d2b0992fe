"""The aggregator's side of protection `paillier`: ciphertexts added under the parties' public key as they arrive."""

from __future__ import annotations

from hekat.errors import InputError
from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.paillier.message_checks import check_ciphertexts
from hekat.protocol.secure_sum.paillier.messages import SumMessage, UpdateMessage
from hekat.protocol.secure_sum.participation import participation_of
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.secure_sum.summation import Summation
from hekat.protocol.stopwatch import Stopwatch
from hekat.scheme.paillier import Ciphertexts, PublicKey, add
from hekat.wire import from_bytes, to_bytes


class PaillierSummation(Summation):
    """Adds ciphertexts under the parties' public key as they arrive."""

    def __init__(self, channel: RecordedChannel, settings: SumSettings, stopwatch: Stopwatch, key: PublicKey) -> None:
        self._channel, self._settings, self._stopwatch, self._key = channel, settings, stopwatch, key
        self._participation = participation_of(channel, settings)

    def parties_in(self, step: str) -> tuple[str, ...]:
        """Who uploads in the step."""
        return self._participation.parties_in(step)

    def serve(self, step: str, then: str = "") -> None:
        total: Ciphertexts | None = None
        parties = self.parties_in(step)
        for party in parties:
            update = self._channel.receive(party, f"{step}/update", UpdateMessage)
            with self._stopwatch.measure("aggregate"):
                ciphertexts = from_bytes(update.ciphertexts, Ciphertexts, public_key=self._key)
                check_ciphertexts(ciphertexts, party, step, total)
                total = ciphertexts if total is None else add(total, ciphertexts)
        if total is None:
            raise InputError("a sum over no parties", expected="at least 2 parties", got="0")
        with self._stopwatch.measure("aggregate"):
            message = SumMessage(ciphertexts=to_bytes(total), addend_count=len(parties))
        for party in self._settings.parties:
            self._channel.send(party, f"{step}/sum", message)
