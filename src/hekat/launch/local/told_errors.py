"""Errors that a relay tells a role, as header entries: their kind, their words, and the signed notice they carry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.channel.dropout_notice import DropoutNotice
from hekat.errors import (
    ChannelError,
    ChannelTimeoutError,
    HekatError,
    InputError,
    JobError,
    PartyLostError,
    PartyStoppedError,
    PolicyError,
)

# A relay raises no others; what it tells beyond these becomes a ChannelError.
_TOLD: dict[str, type[HekatError]] = {
    kind.__name__: kind
    for kind in (
        ChannelError,
        ChannelTimeoutError,
        InputError,
        JobError,
        PartyLostError,
        PartyStoppedError,
        PolicyError,
    )
}
_WORDS = ("by", "party", "reason", "step", "saved")
_OF_A_PARTY = ("party", "step", "saved", "reason", "expelled_by", "told_reason")


def encode_error(error: HekatError) -> dict[str, Any]:
    """`error` as entries of a header."""
    entries: dict[str, Any] = {"kind": type(error).__name__, "what": error.what}
    entries |= {"expected": error.expected, "got": error.got, "cure": error.cure}
    entries |= {name: getattr(error, name) for name in _OF_A_PARTY if hasattr(error, name)}
    notice = getattr(error, "notice", None)
    if isinstance(notice, DropoutNotice):
        entries["notice"] = encode_notice(notice)
    return entries


def decode_error(entries: Mapping[str, Any]) -> HekatError:
    """The error that `entries` tell; every word of it is the relay's claim."""
    words = {name: str(entries.get(name, "")) for name in ("what", "expected", "got", "cure")}
    kind = _TOLD.get(str(entries.get("kind")), ChannelError)
    if kind is PartyStoppedError or kind is PartyLostError:
        error: HekatError = kind(words["what"], cure=words["cure"])
        for name in _OF_A_PARTY:
            if hasattr(error, name):
                setattr(error, name, str(entries.get(name, "")))
        if "notice" in entries:
            error.notice = decode_notice(entries["notice"])  # type: ignore[attr-defined]
        return error
    return kind(**words)


def encode_notice(notice: DropoutNotice) -> dict[str, Any]:
    """`notice` as entries of a header."""
    words = {name: getattr(notice, name) for name in _WORDS}
    return {**words, "lost": list(notice.lost), "signature": notice.signature}


def decode_notice(entries: Mapping[str, Any]) -> DropoutNotice:
    """The notice as the relay passed it on; whoever reads it verifies its signature. Raises ChannelError."""
    if not isinstance(entries, Mapping) or not isinstance(entries.get("signature"), bytes):
        raise ChannelError("malformed dropout notice", expected="who, whom, why and a signature", got="something else")
    lost = entries.get("lost")
    return DropoutNotice(
        signature=entries["signature"],
        lost=tuple(str(name) for name in lost) if isinstance(lost, list) else (),
        **{name: str(entries.get(name, "")) for name in _WORDS},
    )
