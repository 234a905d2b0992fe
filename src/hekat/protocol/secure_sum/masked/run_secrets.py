"""Secrets of a run that the first party draws and gives to the other parties; a key authority gets the key of releases.

Keys are of 32 bytes; those that the run's opening does not use are empty.
"""

from __future__ import annotations

from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.masked.messages import RunSecretsMessage
from hekat.protocol.secure_sum.run_keys import check_run_key, draw_run_key
from hekat.protocol.secure_sum.settings import SumSettings

_STEP = "run-secrets"


def tell_run_secrets(channel: RecordedChannel, settings: SumSettings) -> RunSecretsMessage:
    """The first party draws the secrets of the run and gives them to all others: what it gave.

    They are worth nothing outside the session, so that it may say them before the others have confirmed it.
    """
    is_shared = settings.opening == "shared"
    message = RunSecretsMessage(
        digest_key=draw_run_key(),
        shared_key=draw_run_key() if is_shared else b"",
        release_key=b"" if is_shared else draw_run_key(),
    )
    for party in settings.parties[1:]:
        channel.send(party, _STEP, message)
    if settings.authority is not None:
        channel.send(settings.authority, _STEP, RunSecretsMessage(b"", b"", message.release_key))
    return message


def share_run_secrets(
    channel: RecordedChannel, settings: SumSettings, told: RunSecretsMessage | None
) -> RunSecretsMessage:
    """At a party: the secrets, drawn and told (`told`: what was told already) by the first one, checked at the others.

    Raises KeyRefusedError for keys of another length, and where one is missing or not of this opening.
    """
    if channel.party == settings.leader:
        return told or tell_run_secrets(channel, settings)
    received, is_shared = channel.receive(settings.leader, _STEP, RunSecretsMessage), settings.opening == "shared"
    check_run_key(received.digest_key, "digest key", settings)
    check_run_key(received.shared_key, "shared key", settings, wanted=is_shared)
    check_run_key(received.release_key, "release key", settings, wanted=not is_shared)
    return received


def receive_release_key(channel: RecordedChannel, settings: SumSettings) -> bytes:
    """At a key authority: the key of releases alone. Raises KeyRefusedError for anything else."""
    received = channel.receive(settings.leader, _STEP, RunSecretsMessage)
    check_run_key(received.digest_key, "digest key for an authority", settings, wanted=False)
    check_run_key(received.shared_key, "shared key for an authority", settings, wanted=False)
    return check_run_key(received.release_key, "release key", settings)
