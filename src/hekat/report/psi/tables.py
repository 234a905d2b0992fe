"""The tables of a set intersection, and what it found in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hekat.report.number_text import (
    format_byte_count,
    format_count,
    format_seconds,
    format_share,
    join_names,
    pluralise,
)
from hekat.report.part_table import part_table
from hekat.report.table import Table

KINDS: Final = {
    "ecdh": "Diffie-Hellman on Curve25519",
    "rsa_blind": "blind RSA signatures",
}
_LEARNED: Final = {
    "rows": "which of its rows are common to all",
    "count": "how many rows are common",
    "nothing": "nothing but rounded sizes",
}
# What is measured, in the order it comes, with what happens in it.
PARTS: Final = {
    "keys": "making and proving the signer's key, once",
    "hash": "hashing ids to points of the curve",
    "points": "multiplying points by a secret scalar",
    "check points": "checking points that came",
    "blind": "hashing and blinding ids",
    "sign": "signing",
    "unblind": "unblinding, and verifying every signature",
    "tag": "turning signatures into tags",
    "compare": "sorting and matching the lists",
    "send": "sealing and signing messages, handing them over",
    "open": "opening sealed messages and checking who signed them",
    "idle": "waiting for the others",
}
# What a plot shows of them; every part that is not named is of the first kind.
KINDS_OF_TIME: Final = {
    "prepare": "hashing, blinding, tags, matching",
    "powers": "points of the curve, or signatures",
    "keys": "the signer's key",
    "message": "messages: sealing, signing, opening, checking",
    "idle": "waiting for the others, who take turns",
}
_KIND_OF_PART: Final = {
    "points": "powers",
    "sign": "powers",
    "unblind": "powers",
    "keys": "keys",
    "send": "message",
    "open": "message",
    "idle": "idle",
}


def verdict(summary: Mapping[str, Any]) -> str:
    """One sentence: who compared how many ids, by which protocol, and how many are common."""
    parties, settings = summary["parties"], summary["settings"]
    names = join_names([party["name"] for party in parties])
    sizes = join_names([format_count(party["ids"]) for party in parties])
    common, learners = summary["common"], join_names(settings["learns"])
    learn = "learned how many, not which" if settings["cardinality_only"] else "learned which"
    found = f"{format_count(common)} {'is' if common == 1 else 'are'} common to all" if common else "none is common"
    return f"{names} compared {sizes} ids by {KINDS[settings['kind']]}: {found}; {learners} {learn}."


def size_sentences(summary: Mapping[str, Any]) -> list[str]:
    """What share of each party's ids is common, and what sizes the others were told."""
    shares = [
        f"{format_share(summary['common'] / party['ids'])} of {party['name']}'s"
        for party in summary["parties"]
        if party["ids"]
    ]
    return [
        f"Common ids are {join_names(shares)} ids.",
        "Each party tells the others the size of its set rounded up to a step of a public ladder, and fills its list "
        "up to that size with ids that nobody has.",
    ]


def time_sentence(summary: Mapping[str, Any]) -> str:
    """How long it took, and how fast that is."""
    total, ids = summary["seconds"]["total"], sum(party["ids"] for party in summary["parties"])
    fast = f", {format_count(round(ids / total))} ids of all parties a second" if total else ""
    return f"The comparison took {format_seconds(total)} from the first greeting to the last signature{fast}."


def party_table(summary: Mapping[str, Any]) -> Table:
    """Who took part, with how many ids, and what each learned."""
    rows = [
        (
            party["name"],
            party["role"],
            _LEARNED[party["learned"]],
            format_count(party["ids"]),
            format_count(party["padded"]),
        )
        for party in summary["parties"]
    ]
    return Table(
        "Parties and their ids",
        ("name", "role", "learned", "ids", "size told to others"),
        tuple(rows),
        f"{format_count(summary['common'])} {pluralise(summary['common'], 'id')} common to all parties.",
        text_columns=3,
    )


def time_table(summary: Mapping[str, Any]) -> Table:
    """Seconds of every role by part."""
    return part_table(summary["seconds_by_role"], PARTS)


def byte_table(summary: Mapping[str, Any]) -> Table:
    """Sealed bytes that each role sent and received."""
    traffic = summary["bytes"]["by_role"]
    sizes = {party["name"]: party["ids"] for party in summary["parties"]}
    rows = [
        (
            role,
            format_byte_count(found["sent"]),
            format_byte_count(found["received"]),
            format_byte_count(round(found["sent"] / sizes[role])) if sizes.get(role) else "–",
        )
        for role, found in traffic.items()
    ]
    return Table(
        "Bytes by role",
        ("role", "sent", "received", "sent for each own id"),
        tuple(rows),
        "Sealed messages, greetings and signatures included.",
    )


def kind_seconds(summary: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Seconds of each role by kind of part."""
    found: dict[str, dict[str, float]] = {}
    for role, seconds in summary["seconds_by_role"].items():
        found[role] = dict.fromkeys(KINDS_OF_TIME, 0.0)
        for part, value in seconds.items():
            found[role][_KIND_OF_PART.get(part, "prepare")] += value
    return found
