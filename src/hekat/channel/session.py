"""Opens a session: every party shows a fresh nonce and a fresh sealing key, signed, and all agree on one session id."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hekat.channel.canonical import decode_fields, decode_text, encode_fields
from hekat.channel.party_key import SIGNATURE_BYTES, PartyKey, PartyPublicKey
from hekat.channel.session_key import SessionPublicKey
from hekat.errors import SealError

DIGEST_BYTES = 32
NONCE_BYTES = 32

_VERSION = b"3"
_FAMILY = b"hekat/hello/"
_MAGIC = _FAMILY + _VERSION
_HELLO_PURPOSE = "hekat/hello/3"
_PAIR_PURPOSE = "hekat/session-confirmed/3"
_CONFIRM_PURPOSE = "hekat/session-confirmed-to-all/3"
_SESSION_LABEL = b"hekat/session-id/1"


@dataclass(frozen=True)
class Hello:
    """What a party says first, to all: its name, run, protocol and job, and its fresh nonce and key."""

    run_id: str
    protocol: str
    job_digest: bytes
    party: str
    signer: str
    nonce: bytes
    session_key: bytes

    def encode(self, key: PartyKey) -> bytes:
        """The signed bytes."""
        fields = self._fields()
        return encode_fields(_MAGIC, *fields, key.sign(_HELLO_PURPOSE, *fields))

    def _fields(self) -> list[bytes]:
        return [
            self.run_id.encode(),
            self.protocol.encode(),
            self.job_digest,
            self.party.encode(),
            self.signer.encode(),
            self.nonce,
            self.session_key,
        ]


def make_hello(
    key: PartyKey, party: str, run_id: str, protocol: str, job_digest: bytes, session_key: SessionPublicKey
) -> Hello:
    """A hello with 32 fresh bytes of the operating system's randomness."""
    nonce = secrets.token_bytes(NONCE_BYTES)
    return Hello(run_id, protocol, job_digest, party, key.fingerprint, nonce, session_key.raw)


def read_hello(data: bytes, sender: str, pinned: PartyPublicKey, mine: Hello) -> Hello:
    """The hello of `sender`, signed by its pinned key, of the run and protocol of `mine`.

    Raises:
        SealError: malformed, altered, signed by another key, of another party, run or protocol.
    """
    what = f"hello of {sender!r}"
    magic, *fields, signature = decode_fields(data, 9, what)
    run_id, protocol, job_digest, party, signer, nonce, session_key = fields
    lengths = (len(job_digest), len(nonce), len(signature))
    if magic != _MAGIC and magic.startswith(_FAMILY):
        raise SealError(
            f"the {what} is of another version",
            expected=f"a hello of this release, version {_VERSION.decode()}",
            got="an older or newer one",
            cure="install one release of Hekat at every site",
        )
    if magic != _MAGIC or lengths != (DIGEST_BYTES, NONCE_BYTES, SIGNATURE_BYTES):
        raise SealError(f"malformed {what}", expected="a hello of this release", got=f"{len(data)} other bytes")
    hello = Hello(
        decode_text(run_id, what),
        decode_text(protocol, what),
        job_digest,
        decode_text(party, what),
        decode_text(signer, what),
        nonce,
        session_key,
    )
    check_signer(what, hello.signer, pinned)
    if not pinned.verify(signature, _HELLO_PURPOSE, *fields):
        raise altered_error(what)
    _check_equal(what, "party", sender, hello.party)
    _check_equal(what, "run", mine.run_id, hello.run_id)
    _check_equal(what, "protocol", mine.protocol, hello.protocol)
    return hello


def check_jobs_agree(mine: Hello, others: Iterable[Hello]) -> None:
    """Raise SealError naming every party whose job is another one than ours."""
    differing = [hello.party for hello in others if hello.job_digest != mine.job_digest]
    if differing:
        raise SealError(
            "the parties were given different jobs",
            expected=f"the job of {mine.party!r}, digest {mine.job_digest.hex()[:16]}",
            got=f"another job at {', '.join(repr(party) for party in differing)}",
            cure="give all parties the same job file, letter by letter",
        )


def session_id_of(hellos: Iterable[Hello]) -> bytes:
    """SHA-256 over the job digest and every (party, nonce), sorted by party; 32 bytes, fresh if one party is."""
    ordered = sorted(hellos, key=lambda hello: hello.party)
    pairs = [field for hello in ordered for field in (hello.party.encode(), hello.nonce)]
    return hashlib.sha256(encode_fields(_SESSION_LABEL, ordered[0].job_digest, *pairs)).digest()


def confirm_to_all(key: PartyKey, session_id: bytes, sender: str) -> bytes:
    """The sender's word, for all, that it sees this session."""
    return encode_fields(key.sign(_CONFIRM_PURPOSE, session_id, sender.encode()))


def check_confirmed_to_all(data: bytes, session_id: bytes, sender: str, pinned: PartyPublicKey) -> None:
    """Raise SealError unless `sender` sees the same session as we do."""
    (signature,) = decode_fields(data, 1, f"confirmation of {sender!r}")
    if not pinned.verify(signature, _CONFIRM_PURPOSE, session_id, sender.encode()):
        raise _another_session(sender)


def confirm_pair(key: PartyKey, session_id: bytes, sender: str, receiver: str, sealed_key: bytes) -> bytes:
    """The sender's word, for one receiver, that it sees this session; `sealed_key` is the pair's key, sealed."""
    signature = key.sign(_PAIR_PURPOSE, session_id, sender.encode(), receiver.encode(), sealed_key)
    return encode_fields(sealed_key, signature)


def check_pair(data: bytes, session_id: bytes, sender: str, receiver: str, pinned: PartyPublicKey) -> bytes:
    """The sealed pair key. Raises SealError unless `sender` sees the same session as we do."""
    sealed_key, signature = decode_fields(data, 2, f"confirmation of {sender!r}")
    if not pinned.verify(signature, _PAIR_PURPOSE, session_id, sender.encode(), receiver.encode(), sealed_key):
        raise _another_session(sender)
    return sealed_key


def no_key_error(what: str) -> SealError:
    """What is raised where a message came and the key of its pair did not."""
    return SealError(
        f"{what} came without the key of its pair",
        expected="the key before the first message",
        got="none",
        cure="start the run again; if it happens again, somebody is between you and the others",
    )


def _another_session(sender: str) -> SealError:
    return SealError(
        f"{sender!r} is in another session",
        expected="all parties to see the same hellos",
        got="a confirmation of other ones: a hello was replayed or replaced on the way",
        cure="start the run again; if it happens again, somebody is between you and the others",
    )


def check_signer(what: str, signer: str, pinned: PartyPublicKey) -> None:
    """Raise SealError unless the stated signer is the pinned key's fingerprint."""
    if signer != pinned.fingerprint:
        stated = signer if len(signer) == len(pinned.fingerprint) and signer.isalnum() else "no fingerprint"
        raise SealError(
            f"wrong signer: the {what} is signed by a key that is not pinned",
            expected=f"key {pinned.fingerprint}",
            got=f"key {stated}",
            cure="compare the fingerprints with that party by telephone, and pin the right key",
        )


def altered_error(what: str) -> SealError:
    """What is raised where a signature does not hold although it names the pinned key."""
    return SealError(
        f"the {what} was altered on the way, or signed by somebody else",
        expected="the pinned key's signature over these bytes",
        got="one that does not hold",
        cure="start the run again; if it happens again, somebody is between you and the others",
    )


def check_pinned(
    pinned: Mapping[str, PartyPublicKey], party: str, own: PartyPublicKey, parties: tuple[str, ...]
) -> None:
    """Raise SealError unless every other party has a pinned key, all keys differ, and ours is not pinned wrongly."""
    missing = [name for name in parties if name != party and name not in pinned]
    if missing:
        raise SealError(
            "no pinned key for some parties",
            expected="a public party key for each, obtained from it directly",
            got=f"none for {', '.join(repr(name) for name in missing)}",
            cure="ask them for the line that `hekat keys` prints",
        )
    if pinned.get(party, own) != own:
        raise SealError(
            f"{party!r} is pinned to another key than its own",
            expected=f"key {own.fingerprint}",
            got=f"key {pinned[party].fingerprint}",
            cure="give all parties the public line of the key in use",
        )
    keys = {own.raw: party}
    for name in parties:
        if name == party:
            continue
        if pinned[name].raw in keys:
            raise SealError(
                f"{keys[pinned[name].raw]!r} and {name!r} are pinned to one key",
                expected="a key of its own for each party",
                got=f"key {pinned[name].fingerprint} twice",
            )
        keys[pinned[name].raw] = name


def _check_equal(what: str, name: str, expected: str, got: str) -> None:
    if expected != got:
        raise SealError(
            f"the {what} is of another {name}",
            expected=repr(expected),
            got=repr(got),
            cure="all parties must run the same job in the same run",
        )
