"""The check that all roles go on after the same round."""

from __future__ import annotations

from hekat.errors import ProtocolError
from hekat.protocol.encrypted_model.party_run import EncryptedModelRun


def check_same_rounds(peer: str, rounds_done: int, run: EncryptedModelRun) -> None:
    """Raise ProtocolError where `peer` goes on after another round than this role."""
    if rounds_done != run.rounds_done:
        raise ProtocolError(
            f"{peer!r} goes on after another round",
            expected=f"{run.rounds_done} rounds done",
            got=f"{rounds_done}",
            cure="resume all roles from one round of one run, or begin anew",
        )
