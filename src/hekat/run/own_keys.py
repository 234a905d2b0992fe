"""The keys of one role that plays alone: its own private key, and every role's public key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hekat.channel import PartyKey, PartyPublicKey
from hekat.disk_errors import disk_errors_as_state_errors, read_file
from hekat.errors import HekatError, JobError
from hekat.job.load_any_job import AnyJob, roles_of
from hekat.job.party_keys import ONE_PROCESS
from hekat.protocol.role_session import PARTIES_FILE
from hekat.run.session_keys import save_public_keys

OWN_KEY_FILE = "own.key"


@dataclass(frozen=True)
class OwnKeys:
    """`public` are the keys of every role of the run."""

    own: PartyKey = field(repr=False)
    public: Mapping[str, PartyPublicKey]


def find_own_keys(job: AnyJob, role: str, kept: Mapping[str, PartyKey], folder: Path | None = None) -> OwnKeys:
    """The role's keys: from the job and its site (`kept`), or as a launcher put them into `folder`.

    Raises JobError where the job names no keys and no launcher gave any: then nothing would tell the roles who is who.
    """
    if job.party_keys:
        if folder is not None:
            raise JobError(
                "the job names every role's key, so keys from a folder are not taken",
                expected="no --keys",
                got=f"--keys {folder}",
                cure="leave out --keys",
            )
        # Loading the inputs refused a site without the private half.
        return OwnKeys(kept[role], job.party_keys)
    if folder is None:
        raise JobError(
            ONE_PROCESS,
            expected="[party_keys] in the job, with the public key of every role",
            got=f"--role {role} for a job without them",
            cure="run all roles with: hekat run JOB --processes; or add each role's line of `hekat keys party` to the "
            "job",
        )
    return read_key_folder(folder, role, roles_of(job))


def write_key_folder(folder: Path, own: PartyKey, public: Mapping[str, PartyPublicKey]) -> None:
    """Make `folder`, mode 700, with one role's private key and every public one. Raises StateError."""
    with disk_errors_as_state_errors(f"{folder} cannot be made"):
        folder.mkdir(mode=0o700)
    own.save(folder / OWN_KEY_FILE)
    save_public_keys(folder, public, mode=0o600)


def read_key_folder(folder: Path, role: str, roles: tuple[str, ...]) -> OwnKeys:
    """What `write_key_folder` wrote. Raises StateError, KeyRefusedError or JobError where it is not that."""
    own = PartyKey.load(folder / OWN_KEY_FILE)
    path = folder / PARTIES_FILE
    try:
        texts = json.loads(read_file(path))
        public = {name: PartyPublicKey.from_text(texts[name]) for name in roles}
    except (ValueError, RecursionError, KeyError, TypeError, HekatError) as error:
        raise JobError(
            f"{path} does not hold a public key of every role",
            expected=f"keys of {', '.join(roles)}",
            got="something else",
            cure="start the roles with: hekat run JOB --processes",
        ) from error
    if public[role] != own.public:
        raise JobError(
            f"the key in {folder} is not the key of {role}",
            expected=f"key {public[role].fingerprint}",
            got=f"key {own.fingerprint}",
            cure="give each role the folder that was made for it",
        )
    return OwnKeys(own, public)
