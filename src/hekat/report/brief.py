"""What a run prints unasked: its models, what it cost, what it protects, and every warning; the rest is elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hekat.report.number_text import (
    describe_metric,
    format_byte_count,
    format_count,
    format_metric,
    pluralise,
)
from hekat.report.table import Table, metric_names

RECOMMENDED_KEY_BITS = 3072
# A brief lists at most this many models trained alone one by one.
_MOST_ALONE = 8
# A brief prints at most this many caveats, and then how many more there are.
_MOST_CAVEATS = 8
# How the caveats begin that every run of its kind has: they are in the report.
_ROUTINE = (
    "a 2048-bit key gives about",
    "all parties ran on this one machine",
    "all roles ran on this one machine",
    "float updates of all parties were compared",
    "gradients of all parties were compared",
    "metrics are of those test rows",
    "no party knows a weight",
    "nothing bounds the length of one party's update",
    "one machine plays all roles",
    "parties are trusted to",
    "parties took turns",
    "predicted rows are counted against",
    "protection 'lattice' has had no review",
    "protection is NONE",
    "every party learned counts of rows",
    "every party learned which of its rows",
    "every role ran in a process of its own",
    "roles took turns",
    "scores are told to",
    "sparse rows are scaled",
    "the guest learned each epoch's mean square",
    "the job names no party keys",
    "the loss is the second-order Taylor form",
    "the model was trained on all rows that the metrics are of",
    "the plain comparison sent updates",
    "the rows of all parties were put together",
    "what is shown at other bits per value",
)
_ON_ONE_MACHINE = (
    "all parties ran on this one machine",
    "all roles ran on this one machine",
    "the job names no party keys",
)
_IN_PROCESSES = "every role ran in a process of its own"
_RECORDS_WITH_RUN = "one machine plays all roles"
_ON_DATA = re.compile(r"\b(columns?|rows) .*: (look (at|for)|no model learns|is the path)")
# What ids are, where nothing about them is odd.
_PLAIN_IDS = re.compile(r"(.*: )?ids are [^;]*")


@dataclass(frozen=True)
class Brief:
    """A run in short.

    `table` of its models, None where nothing was measured; `facts`, each a label of one word and sentences; `warnings`,
    which nobody may miss; `caveats` that not every run of its kind has.
    """

    table: Table | None
    facts: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()


def brief_table(results: Sequence[Mapping[str, Any]], note: str) -> Table | None:
    """Every model under short heads, `note` below; of many models trained alone the best, the middle and the worst."""
    names = metric_names({"results": results})
    if not names:
        return None
    rows = [
        (result["name"], *(format_metric(name, result["metrics"].get(name)) for name in names))
        for result in _fewer_alone(results, names[0])
    ]
    return Table("", ("", *(describe_metric(name).title for name in names)), tuple(rows), note)


def data_warnings(caveats: Iterable[str]) -> tuple[str, ...]:
    """The caveats on cells and columns that a model learns nothing good from: nobody may miss them."""
    return tuple(caveat for caveat in caveats if _ON_DATA.search(caveat))


def unusual_caveats(caveats: Iterable[str], *, told: Iterable[str] = ()) -> tuple[str, ...]:
    """The caveats that not every run of its kind has, one line for all parties that share one; without those in `told`.

    Of many the first are given, and how many more the report lists.
    """
    said = set(told)
    left = join_parties(caveat for caveat in caveats if caveat not in said and not _is_routine(caveat))
    more = len(left) - _MOST_CAVEATS
    if more <= 0:
        return tuple(left)
    return *left[:_MOST_CAVEATS], f"{format_count(more)} more {pluralise(more, 'caveat')}: the report lists them"


def place_sentence(caveats: Sequence[str]) -> str:
    """Where the roles ran, as the caveats have it, with a space before it; "" where they do not say."""
    keeps_no_records = any(caveat.startswith(_RECORDS_WITH_RUN) for caveat in caveats)
    records = "; another run knows nothing of what this one opened" if keeps_no_records else ""
    if any(caveat.startswith(_IN_PROCESSES) for caveat in caveats):
        return f" Here every role ran in a process of its own on this machine{records}."
    if keeps_no_records:
        return f" Here one machine plays all roles and holds every party's rows{records}."
    if any(caveat.startswith(_ON_ONE_MACHINE) for caveat in caveats):
        return " Here all roles ran in one process, which held every party's rows."
    return ""


def sent_sentence(summary: Mapping[str, Any]) -> str:
    """How many bytes each role sent in the whole run; parties in the order of the job, then the other roles."""
    traffic = summary["bytes"]["by_role"]
    roles = dict.fromkeys([*(party["name"] for party in summary["parties"]), *traffic])
    sent = [f"{role} {format_byte_count(traffic[role]['sent'])}" for role in roles if role in traffic]
    return f"Sent, sealed: {', '.join(sent)}."


def short_key_warning(key_bits: int | None) -> str | None:
    """What to say of a key below the recommended size; None for any other, and where there is no key."""
    if key_bits is None or key_bits >= RECOMMENDED_KEY_BITS:
        return None
    return (
        f"The key has {format_count(key_bits)} bits, fewer than the usual {format_count(RECOMMENDED_KEY_BITS)}. For "
        f"data that must stay secret for long, set protection.key_bits = {RECOMMENDED_KEY_BITS}."
    )


def _fewer_alone(results: Sequence[Mapping[str, Any]], name: str) -> list[Mapping[str, Any]]:
    alone = [result for result in results if result["kind"] == "alone" and name in result["metrics"]]
    if len(alone) <= _MOST_ALONE:
        return list(results)
    higher = describe_metric(name).higher_is_better
    ordered = sorted(alone, key=lambda result: result["metrics"][name], reverse=higher is not False)
    places = {"best": 0, "middle": len(ordered) // 2, "worst": len(ordered) - 1}
    shown = [
        {**ordered[place], "name": f"{word} of {len(alone)} alone, {ordered[place]['name'].removesuffix(' alone')}"}
        for word, place in places.items()
    ]
    return [*shown, *(result for result in results if result["kind"] != "alone")]


def _is_routine(caveat: str) -> bool:
    return caveat.startswith(_ROUTINE) or _PLAIN_IDS.fullmatch(caveat) is not None


def join_parties(caveats: Iterable[str]) -> list[str]:
    """The caveats, "a: note" and "b: note" as "a, b: note"; those without such a beginning come first."""
    found: dict[str, list[str]] = {}
    for caveat in caveats:
        who, colon, what = caveat.partition(": ")
        found.setdefault(what if colon else "", []).append(who)
    joined = {what: ", ".join(dict.fromkeys(who)) for what, who in found.items() if what}
    return [*found.get("", []), *(f"{who}: {what}" for what, who in joined.items())]
