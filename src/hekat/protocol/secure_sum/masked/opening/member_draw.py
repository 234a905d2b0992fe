"""How members are drawn from the parties: commitments, the list that all agree on, members from the revealed words.

Source: docs/spec/committee.md, The draw, which gives the bytes that are hashed, and a worked example.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from hekat.channel.canonical import encode_fields
from hekat.errors import InputError

WORD_BYTES = 32
DIGEST_BYTES = 32
_COMMITMENT_LABEL = b"hekat/lattice/members/commitment/1"
_LIST_LABEL = b"hekat/lattice/members/list/1"
_SEED_LABEL = b"hekat/lattice/members/seed/1"
_MEMBERS_LABEL = b"hekat/lattice/members/drawn/1"
# 16-bit words to draw from: each is skipped with a probability below 1/256, and seven are needed.
_STREAM_WORDS = 512
_WORD_VALUES = 1 << 16


def commitment_of(job_digest: bytes, party: str, word: bytes) -> bytes:
    """A party's commitment to its word: 32 bytes that hide the word's 32 random bytes and bind the party to them.

    Raises InputError for a word of another length.
    """
    if len(word) != WORD_BYTES:
        raise InputError("not a party's word", expected=f"{WORD_BYTES} bytes", got=f"{len(word)}")
    return hashlib.sha256(encode_fields(_COMMITMENT_LABEL, job_digest, party.encode(), word)).digest()


def list_digest_of(job_digest: bytes, commitments: Mapping[str, bytes]) -> bytes:
    """What parties sign before they reveal: 32 bytes over all commitments, sorted by party."""
    return hashlib.sha256(encode_fields(_LIST_LABEL, job_digest, *_sorted_fields(commitments))).digest()


def draw_names(words: Mapping[str, bytes], count: int, job_digest: bytes) -> frozenset[str]:
    """`count` of the parties that gave `words`, every choice as likely as every other if one word is random.

    A shuffle of the sorted names that stops after `count`, with numbers from SHAKE-256 of the words' digest; numbers
    that would favour some names are skipped.
    """
    seed = hashlib.sha256(encode_fields(_SEED_LABEL, job_digest, *_sorted_fields(words))).digest()
    stream = hashlib.shake_256(seed).digest(2 * _STREAM_WORDS)
    numbers = iter(int.from_bytes(stream[at : at + 2], "little") for at in range(0, len(stream), 2))
    names = sorted(words)
    for place in range(count):
        left = len(names) - place
        number = next(number for number in numbers if number < _WORD_VALUES - _WORD_VALUES % left)
        chosen = place + number % left
        names[place], names[chosen] = names[chosen], names[place]
    return frozenset(names[:count])


def draw_members(parties: Sequence[str], words: Mapping[str, bytes], count: int, job_digest: bytes) -> tuple[str, ...]:
    """The members that the words of all `parties` give, in the order in which the job names them."""
    drawn = draw_names(words, count, job_digest)
    return tuple(name for name in parties if name in drawn)


def members_digest_of(job_digest: bytes, members: Sequence[str]) -> bytes:
    """What a party signs of the members that it accepts: 32 bytes over their names, in the order of their points."""
    fields = [member.encode() for member in members]
    return hashlib.sha256(encode_fields(_MEMBERS_LABEL, job_digest, *fields)).digest()


def _sorted_fields(values: Mapping[str, bytes]) -> list[bytes]:
    return [field for name in sorted(values) for field in (name.encode(), values[name])]
