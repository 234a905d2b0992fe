"""The end of training: every party compares its final model with every other party's, whatever the aggregator says.

The aggregator compares models after each round, and can hide that it sent parties different sums. Under protection
`lattice` each upload is masked with the model before it, so the next upload shows such a difference. No upload follows
the last sum, and the other protections have no model in uploads. So each party tells every other one a signed digest:
of the final model, and of all models and totals before it.

Up to MOST_IN_PAIRS parties send it to each other. Of more parties that would be most messages of a run: there each
sends the aggregator a mark, which hides from it what is equal to what, and the aggregator passes all marks on to all.
It can keep one back, as whoever carries messages can, and cannot make one.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable

from hekat.channel.canonical import encode_fields
from hekat.errors import ChannelTimeoutError, ModelsDifferError, PartyLostError, ProtocolError, SealError, WireError
from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.agreement.messages import FinalMarkMessage, FinalMarksMessage, FinalModelMessage
from hekat.protocol.secure_sum.roster import Roster
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.secure_sum.timeouts import Deadline

FINAL_MODEL_STEP = "final/model"
MOST_IN_PAIRS = 16
_PURPOSE = "hekat/horizontal/final-model/1"
_MARK_PURPOSE = "hekat/horizontal/final-mark/1"
_LABEL = b"hekat/horizontal/final-model/1"
_MARK_LABEL = b"hekat/horizontal/final-mark/1"


class ModelTrail:
    """The keyed digests of the models that a party went through in this session, as one digest under `key`.

    `key` is the parties' alone, empty under protection `none`, where the aggregator knows every model.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._digest = hashlib.sha256(_LABEL)

    def add(self, model_digest: bytes) -> None:
        """The model after the next round."""
        self._digest.update(encode_fields(model_digest))

    def end_with(self, model_digest: bytes, totals: bytes = b"") -> bytes:
        """HMAC-SHA-256 over label, the digests so far, the final model's, and all totals that were opened beside it."""
        said = encode_fields(_LABEL, self._digest.digest(), model_digest, totals)
        return hmac.digest(self._key, said, hashlib.sha256)


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
    compare = _compare_by_marks if goes_by_aggregator(settings) else _compare_in_pairs
    equal = compare(channel, settings, others, digest, timeout_s)
    # Only once all digests are here: a party with another model then finds so itself, before this party ends.
    different = [party for party in others if equal[party] is False]
    missing = tuple(party for party in others if equal[party] is None)
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


def goes_by_aggregator(settings: SumSettings) -> bool:
    """Whether the aggregator passes on what parties say of their final models."""
    return len(settings.parties) > MOST_IN_PAIRS


def pass_on_marks(roster: Roster, settings: SumSettings) -> None:
    """The aggregator's part: nothing, or in a job of many parties it tells all of them what each of them says."""
    if goes_by_aggregator(settings):
        said = roster.receive_from_all(FINAL_MODEL_STEP, FinalMarkMessage)
        marks = {party: one.mark for party, one in said.items()}
        signatures = {party: one.signature for party, one in said.items()}
        roster.send_to_all(FINAL_MODEL_STEP, FinalMarksMessage(marks, signatures))


_Equal = dict[str, bool | None]
"""By party, whether its final model is this party's; None where nothing came that it signed."""


def _compare_by_marks(
    channel: RecordedChannel, settings: SumSettings, others: list[str], digest: bytes, timeout_s: float | None
) -> _Equal:
    session_id = channel.session_id
    mark = _mark_of(session_id, channel.party, digest)
    channel.send(settings.aggregator, FINAL_MODEL_STEP, FinalMarkMessage(mark, channel.sign(_MARK_PURPOSE, mark)))
    told = channel.receive(settings.aggregator, FINAL_MODEL_STEP, FinalMarksMessage, timeout_s)
    # All are told the same: where one process plays many roles, one of them verifies all signatures.
    said = {party: (told.marks.get(party, b""), told.signatures.get(party, b"")) for party in settings.parties}
    statements = tuple((party, signature, (mark,)) for party, (mark, signature) in said.items())
    all_signed = channel.find_unsigned(_MARK_PURPOSE, statements) is None
    equal: _Equal = {}
    for party in others:
        mark, signature = said[party]
        is_signed = all_signed or channel.verify(party, signature, _MARK_PURPOSE, mark)
        if not is_signed and not settings.bears_dropouts:
            raise _not_signed(party)
        equal[party] = mark == _mark_of(session_id, party, digest) if is_signed else None
    return equal


def _mark_of(session_id: bytes, party: str, digest: bytes) -> bytes:
    """What `party` says of a final model with this digest, in this session."""
    return hmac.digest(digest, encode_fields(_MARK_LABEL, session_id, party.encode()), hashlib.sha256)


def _compare_in_pairs(
    channel: RecordedChannel, settings: SumSettings, others: list[str], digest: bytes, timeout_s: float | None
) -> _Equal:
    mine = FinalModelMessage(digest, channel.sign(_PURPOSE, digest))
    for party in others:
        _send(channel, settings, party, mine)
    deadline = Deadline(timeout_s)
    theirs = {party: _receive(channel, settings, party, deadline.left_s) for party in others}
    return {party: None if signed is None else signed == digest for party, signed in theirs.items()}


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
        raise _not_signed(party)
    return None


def _not_signed(party: str) -> ProtocolError:
    return ProtocolError(
        f"party {party} did not sign the digest of its final model",
        expected="its signature over the digest, for this session",
        got="another one",
        cure="find out what runs at that party",
    )


def _differ(party: str, different: Iterable[str]) -> ModelsDifferError:
    names = ", ".join(different)
    return ModelsDifferError(
        f"{party} and {names} do not end with the same model",
        expected="one final model, and the same sums on the way to it, at all parties",
        got="signed digests that differ: the aggregator sent parties different sums, or one of these parties says what "
        "is not so",
        cure="use none of these models; compare the parties' ledgers, which hold the digests of every sum that came",
    )
