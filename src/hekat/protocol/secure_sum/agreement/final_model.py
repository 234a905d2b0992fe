"""The end of training: every party compares its final model with every other party, and not through the aggregator.

The aggregator compares models after each round, and can hide that it sent parties different sums. Under protection
`lattice` each upload is signed with the model before it, so the next upload shows such a difference. No upload follows
the last sum, and the other protections sign no model. So each party sends every other one a signed digest, sealed: of
the final model, and of all models and totals before it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from hekat.channel.canonical import encode_fields
from hekat.errors import ChannelTimeoutError, ModelsDifferError, PartyLostError, ProtocolError, SealError, WireError
from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.agreement.messages import FinalModelMessage
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.secure_sum.timeouts import Deadline

FINAL_MODEL_STEP = "final/model"
_PURPOSE = "hekat/horizontal/final-model/1"
_LABEL = b"hekat/horizontal/final-model/1"


class ModelTrail:
    """The keyed digests of the models that a party went through in this session, as one digest."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256(_LABEL)

    def add(self, model_digest: bytes) -> None:
        """The model after the next round."""
        self._digest.update(encode_fields(model_digest))

    def end_with(self, model_digest: bytes, totals: bytes = b"") -> bytes:
        """SHA-256 over label, the digests so far, the final model's, and all totals that were opened beside it."""
        return hashlib.sha256(encode_fields(_LABEL, self._digest.digest(), model_digest, totals)).digest()


def compare_final_models(
    channel: RecordedChannel, settings: SumSettings, digest: bytes, *, timeout_s: float | None = None
) -> tuple[str, ...]:
    """The parties whose digest of the final model did not come; all others hold the same model.

    `timeout_s` is for all of them together (None: a step's time for each). Such a party dropped out or is slow;
    the run's result says so, and the others do not fail. Under a protection that bears no drop-outs it ends the run.

    Raises ModelsDifferError, at both parties, where another one holds another model or says so; ProtocolError where no
    party could be compared with.
    """
    others = [party for party in settings.parties if party != channel.party]
    mine = FinalModelMessage(digest, channel.sign(_PURPOSE, digest))
    for party in others:
        _send(channel, settings, party, mine)
    deadline = Deadline(timeout_s)
    theirs = {party: _receive(channel, settings, party, deadline.left_s) for party in others}
    # Only once all digests are here: a party with another model then finds so itself, before this party ends.
    different = [party for party, signed in theirs.items() if signed is not None and signed != digest]
    missing = tuple(party for party, signed in theirs.items() if signed is None)
    if different:
        channel.ledger.note(FINAL_MODEL_STEP, f"another final model at {', '.join(different)}", "public")
        raise _differ(channel.party, different)
    if missing:
        channel.ledger.note(FINAL_MODEL_STEP, f"the final model was not compared with {', '.join(missing)}", "public")
    if len(missing) == len(others):
        raise ProtocolError(
            f"the final model of {channel.party} could be compared with nobody",
            expected=f"a signed digest of at least one of {', '.join(others)}",
            got="none",
            cure="resume the run once they are back: the comparison is made again. A loop of your own is begun anew",
        )
    return missing


def _send(channel: RecordedChannel, settings: SumSettings, party: str, message: FinalModelMessage) -> None:
    try:
        channel.send(party, FINAL_MODEL_STEP, message)
    except (PartyLostError, ChannelTimeoutError):
        if not settings.bears_dropouts:
            raise


def _receive(channel: RecordedChannel, settings: SumSettings, party: str, timeout_s: float | None) -> bytes | None:
    """The digest that the party signed; None where none came, or the party did not sign it."""
    try:
        came = channel.receive(party, FINAL_MODEL_STEP, FinalModelMessage, timeout_s)
    except (PartyLostError, ChannelTimeoutError, SealError, WireError):
        if not settings.bears_dropouts:
            raise
        return None
    if channel.verify(party, came.signature, _PURPOSE, came.digest):
        return came.digest
    if not settings.bears_dropouts:
        raise ProtocolError(
            f"party {party} did not sign the digest of its final model",
            expected="its signature over the digest, for this session",
            got="another one",
            cure="find out what runs at that party",
        )
    return None


def _differ(party: str, different: Iterable[str]) -> ModelsDifferError:
    names = ", ".join(different)
    return ModelsDifferError(
        f"{party} and {names} do not end with the same model",
        expected="one final model, and the same sums on the way to it, at all parties",
        got="signed digests that differ: the aggregator sent parties different sums, or one of these parties says what "
        "is not so",
        cure="use none of these models; compare the parties' ledgers, which hold the digests of every sum that came",
    )
