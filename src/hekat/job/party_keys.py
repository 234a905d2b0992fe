"""Party keys that stand in a job: its digest covers them, so that a name in the job is a key and no claim.

The whole public key is written, not its fingerprint: a fingerprint is 128 bits of a digest, and a party that makes its
own keys finds two that are alike in 2^64 steps, and would then be another one to each of the others. Beside it stands a
signature of the private half: the writer of a job cannot give a role a key that its owner does not hold.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hekat.channel import PartyPublicKey
from hekat.errors import HekatError, JobError
from hekat.job.section import Section

SECTION = "party_keys"
ONE_PROCESS = "the job names no party keys: only one machine that plays all roles can run it"


def read_party_keys(section: Section, roles: Collection[str]) -> dict[str, PartyPublicKey]:
    """The public key of every role by its name; empty where the job names none.

    Raises JobError where a role has none while another has, where one key stands twice, or for what is no key.
    """
    named = section.remaining()
    if not named:
        return {}
    missing = [role for role in roles if role not in named]
    if missing:
        raise JobError(
            f"{SECTION} leaves out roles",
            expected=f"a public key for each of {', '.join(roles)}, or for none",
            got=f"none for {', '.join(missing)}",
            cure="ask them for the line that `hekat keys party` prints, and compare fingerprints by telephone",
        )
    keys = {role: _read_key(section, role) for role in roles}
    section.finish()
    owners: dict[bytes, str] = {}
    for role, key in keys.items():
        other = owners.setdefault(key.raw, role)
        if other != role:
            raise JobError(
                f"{SECTION} gives {other} and {role} one key",
                expected="a key of its own for each role",
                got=f"key {key.fingerprint} twice",
                cure="ask both for the line that `hekat keys party` prints",
            )
    return keys


def caveats_on_keys(party_keys: Mapping[str, PartyPublicKey]) -> list[str]:
    """What a reader of a run has to know of who could take part in it."""
    return [] if party_keys else [ONE_PROCESS]


def _read_key(section: Section, role: str) -> PartyPublicKey:
    text = section.take(role, str)
    try:
        return PartyPublicKey.from_pin(text)
    except HekatError as error:
        raise JobError(
            f"{SECTION}.{role} is no public party key", expected=error.expected, got=error.got, cure=error.cure
        ) from error
