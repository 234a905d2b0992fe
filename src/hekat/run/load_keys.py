"""Loads the keys that a site keeps for roles: signing keys, and Paillier keys for the roles that make one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from hekat.channel import PartyKey, PartyPublicKey
from hekat.errors import HekatError, JobError
from hekat.job.site_file import Site
from hekat.scheme.paillier import KeyPair
from hekat.toml_text import toml_key
from hekat.wire.keyfile import describe_key_file, load_private_key


def load_party_keys(
    site: Site, names: Iterable[str], stated: Mapping[str, PartyPublicKey] | None = None
) -> dict[str, PartyKey]:
    """The signing keys that the site keeps, by role.

    `stated` are the keys that stand in the job: raises JobError where the site keeps none for one of those roles, or
    another one.
    """
    paths = {name: site.parties[name].party_key for name in names if name in site.parties}
    keys = {name: _load_party_key(name, path) for name, path in paths.items() if path is not None}
    for name, public in (stated or {}).items():
        if name not in keys:
            raise JobError(
                f"the site file has no party key for {name}",
                expected=f"the private half of key {public.fingerprint}, which the job gives {name}",
                got=f"no party_key under [{toml_key('party', name)}]",
                cure=f"add party_key to [{toml_key('party', name)}]; "
                "if the job's key is not yours, ask its writer for another job",
            )
        if keys[name].public != public:
            raise JobError(
                f"the party key of {name} is not the key in the job",
                expected=f"key {public.fingerprint}, which the job gives {name}",
                got=f"key {keys[name].fingerprint} at {paths[name]}",
                cure="use the key that the job names; if that is not yours, somebody else would take part in your name",
            )
    return keys


def _load_party_key(name: str, path: Path) -> PartyKey:
    try:
        return PartyKey.load(path)
    except HekatError as error:
        error.got = f"{error.got}, for {name}'s party_key under [{toml_key('party', name)}] of the site file"
        raise


def load_key_pair(path: Path, owner: str, key_bits: int, ask_passphrase: Callable[[], bytes] | None) -> KeyPair:
    """The Paillier key in the file at `path`; `owner` says whose it is, as in "the leader".

    Raises JobError for a key of another size than the job's, KeyRefusedError for a file that cannot be opened.
    """
    is_protected = describe_key_file(path)["protection"] == "passphrase"
    private = load_private_key(path, ask_passphrase() if is_protected and ask_passphrase is not None else None)
    if private.public.bits != key_bits:
        raise JobError(
            f"{owner}'s key file does not fit the job",
            expected=f"a key of {key_bits} bits",
            got=f"{private.public.bits} bits",
            cure="change protection.key_bits, or make a key of that size: hekat keys generate",
        )
    return KeyPair(private.public, private)
