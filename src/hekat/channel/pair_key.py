"""The key of one direction between two roles: drawn once a session, sealed to the receiver, moved on by each message.

A session draws them for all pairs as it opens, or for each direction before its first message. Every message has a key
of its own, derived from the pair's under 32 fresh random bytes that travel in its header: so no nonce of AES-GCM meets
one key twice, whatever a sender's counters do. After each message both ends replace the pair's key by a hash of it: a
party that reads the key later cannot open what was sealed before.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import NoReturn

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from hekat.channel.canonical import encode_fields
from hekat.channel.party_key import PartyKey, PartyPublicKey
from hekat.channel.session import check_pair, confirm_pair
from hekat.channel.session_key import SessionKey, SessionPublicKey
from hekat.errors import SealError

KEY_BYTES = 32
SALT_BYTES = 32
TAG_BYTES = 16
"""How much longer a sealed chunk is than its content."""

_PAIR_LABEL = b"hekat/pair-key/1"
_MESSAGE_LABEL = b"hekat/message-key/1"
_NEXT_LABEL = b"hekat/next-pair-key/1"
_NONCE_BYTES = 12


class MessageKey:
    """AES-256-GCM for the chunks of one message."""

    __slots__ = ("_cipher",)

    def __init__(self, cipher: AESGCM) -> None:
        self._cipher = cipher

    def seal(self, content: bytes | memoryview, index: int, info: bytes) -> bytes:
        """Chunk number `index`, bound to `info`; TAG_BYTES longer. Each index is sealed once."""
        return self._cipher.encrypt(index.to_bytes(_NONCE_BYTES, "big"), content, info)

    def open(self, sealed: bytes | memoryview, index: int, info: bytes) -> bytes:
        """The content that was sealed under the same index and `info`. Raises SealError where it was not."""
        try:
            return self._cipher.decrypt(index.to_bytes(_NONCE_BYTES, "big"), sealed, info)
        except InvalidTag:
            raise SealError(
                "a sealed chunk does not open",
                expected="content sealed in this session under this very header",
                got="altered bytes, or another key's",
            ) from None


class PairKey:
    """What one sender seals its next message to one receiver with, in one session."""

    __slots__ = ("_raw",)

    def __init__(self, raw: bytes) -> None:
        if len(raw) != KEY_BYTES:
            raise SealError("malformed pair key", expected=f"{KEY_BYTES} bytes", got=f"{len(raw)} bytes")
        # An array can be written over; bytes cannot.
        self._raw = bytearray(raw)

    @classmethod
    def generate(cls) -> PairKey:
        """A key of the operating system's randomness."""
        return cls(secrets.token_bytes(KEY_BYTES))

    def seal_to(self, receiver: SessionPublicKey, session_id: bytes, sender: str, receiver_name: str) -> bytes:
        """The key for the receiver alone, bound to the session and the direction."""
        return receiver.seal(self._usable(), _pair_info(session_id, sender, receiver_name))

    @classmethod
    def open_from(cls, sealed: bytes, key: SessionKey, session_id: bytes, sender: str, receiver_name: str) -> PairKey:
        """The key that `seal_to` sealed. Raises SealError."""
        return cls(key.open(sealed, _pair_info(session_id, sender, receiver_name)))

    def message_key(self, salt: bytes) -> MessageKey:
        """The key of the message with `salt`, SALT_BYTES fresh random bytes. Raises SealError once it is wiped."""
        # HKDF-SHA-256 (RFC 5869), its one block by hand: the library's object costs as much as sealing a message.
        extracted = hmac.digest(salt, self._usable(), hashlib.sha256)
        return MessageKey(AESGCM(hmac.digest(extracted, _MESSAGE_LABEL + b"\x01", hashlib.sha256)))

    def advance(self) -> None:
        """The key of the next message, HMAC-SHA-256 of this one, written over it. Raises SealError once it is wiped."""
        self._raw[:] = hmac.digest(self._usable(), _NEXT_LABEL, hashlib.sha256)

    def wipe(self) -> None:
        """Write zeros over the key; it seals and opens nothing from now on."""
        self._raw[:] = bytes(len(self._raw))
        self._raw = bytearray()

    def _usable(self) -> bytearray:
        if not self._raw:
            raise SealError("the pair key is wiped", expected="a key of a session that is open")
        return self._raw

    def __repr__(self) -> str:
        return "PairKey(secret)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a PairKey is not copied or pickled: it lives for one session")


class PairKeys:
    """What one role seals to its peers with, and opens of them, in one session.

    `key` signs what this role gives, `pinned` are its peers' keys; `own` opens what peers give, and `peers` are their
    session keys. `own` and `peers` are dropped by `end`, after which no pair begins. Until then whoever reads `own`
    opens the pair keys that this role took before.
    """

    def __init__(
        self,
        session_id: bytes,
        party: str,
        key: PartyKey,
        pinned: Mapping[str, PartyPublicKey],
        own: SessionKey | None,
        peers: Mapping[str, SessionPublicKey],
    ) -> None:
        self.session_id = session_id
        self.sending: dict[str, PairKey] = {}
        self.receiving: dict[str, PairKey] = {}
        self._party, self._key, self._pinned = party, key, pinned
        self._own = own
        self._peers = dict(peers)

    def give(self, to: str) -> bytes:
        """Draw the key of messages to `to`; what it is told, sealed and signed. Raises SealError after `end`."""
        self._session_key(to)
        pair_key = PairKey.generate()
        sealed = pair_key.seal_to(self._peers[to], self.session_id, self._party, to)
        self.sending[to] = pair_key
        return confirm_pair(self._key, self.session_id, self._party, to, sealed)

    def take(self, sender: str, data: bytes) -> None:
        """Read what `sender` gives. Raises SealError where it is not signed by it or does not open, and after `end`."""
        own = self._session_key(sender)
        sealed = check_pair(data, self.session_id, sender, self._party, self._pinned[sender])
        self.receiving[sender] = PairKey.open_from(sealed, own, self.session_id, sender, self._party)

    def end(self) -> None:
        """From now on no pair begins."""
        self._own = None
        self._peers = {}

    def wipe(self) -> None:
        """Write zeros over the keys."""
        self.end()
        for pair_key in (*self.sending.values(), *self.receiving.values()):
            pair_key.wipe()

    def _session_key(self, peer: str) -> SessionKey:
        """The role's session key. Raises SealError after `end`: whoever has no key with `peer` by then gets none."""
        if self._own is None:
            raise SealError(
                f"no pair key between {self._party!r} and {peer!r}",
                expected="messages between roles that met as the session began",
                got="a first one",
                cure="the two roles disagree about who talks with whom: run one release and one job everywhere",
            )
        return self._own


def _pair_info(session_id: bytes, sender: str, receiver: str) -> bytes:
    return encode_fields(_PAIR_LABEL, session_id, sender.encode(), receiver.encode())
