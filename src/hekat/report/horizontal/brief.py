"""A horizontal run in short: its models, what is protected from whom, time and bytes beside plain, warnings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hekat.report.brief import (
    Brief,
    brief_table,
    data_warnings,
    place_sentence,
    short_key_warning,
    unusual_caveats,
)
from hekat.report.horizontal.byte_text import fills_partly
from hekat.report.horizontal.dropouts import dropout_headline, sample_sentences
from hekat.report.horizontal.findings import (
    clear_alarm,
    clear_share,
    clipping_sentence,
    exactness_sentences,
    is_encrypted,
    verdict,
)
from hekat.report.horizontal.precision_sweep import precision_sentence
from hekat.report.horizontal.privacy.words import budget_sentence, privacy_sentence
from hekat.report.horizontal.validation_tables import fold_brief, fold_warning, validation_sentence
from hekat.report.measured_rows import measured_note, training_rows_warning
from hekat.report.number_text import (
    capitalise,
    format_byte_count,
    format_count,
    format_seconds,
    format_times,
    join_names,
    pluralise,
)
from hekat.report.table import METRIC_ORDER, Table
from hekat.report.training_course import Course, converged_words, course_of, course_sentence, course_warning

# The beginnings of the caveats that say who opens the sums.
_WHO_OPENS = ("no key opens an update", "the key authority", "all parties share")
_NOT_COMPARED = re.compile(
    r"(?P<party>.+) did not compare its final model with (?P<missing>.+): nothing came from it", re.DOTALL
)
_COMMITTEE = re.compile(r"no key opens an update: (?P<how>[^;]+); .*This holds against the aggregator (?P<whom>.+)")


def horizontal_brief(summary: Mapping[str, Any]) -> Brief:
    """What a horizontal run prints unasked."""
    trust, untold = split_trust(summary["notes"])
    told = [
        verdict(summary),
        validation_sentence(summary),
        _precision(summary),
        converged_words(_course(summary), "round"),
    ]
    claim = privacy_sentence(summary)
    facts = (
        ("result", " ".join(sentence for sentence in told if sentence)),
        ("protected", f"{_protected(summary, trust)}{place_sentence(summary['notes'])}"),
        *((("private", f"{claim} {budget_sentence(summary) or ''}".rstrip()),) if claim else ()),
        ("time", _time(summary)),
        ("bytes", _bytes(summary)),
        ("checked", exactness_sentences(summary)[0]),
    )
    not_compared, left = _not_compared(summary, untold)
    warnings = (
        clear_alarm(summary),
        dropout_headline(summary),
        training_rows_warning(summary),
        _beyond_bound(summary),
        _clipped(summary),
        short_key_warning(summary["settings"].get("key_bits")) if is_encrypted(summary) else None,
        training_warning(summary),
        fold_warning(summary),
        *data_warnings(summary["notes"]),
        *(sentence for sentence in sample_sentences(summary) if sentence.startswith("Rounds with fewer")),
        *not_compared,
    )
    caveats = unusual_caveats(left, told=data_warnings(left))
    return Brief(_table(summary), facts, tuple(warning for warning in warnings if warning), caveats)


def _table(summary: Mapping[str, Any]) -> Table | None:
    """Metrics on the common test set, or without one on held-out rows."""
    results = summary["results"]
    if any(result["metrics"] for result in results):
        return brief_table(results, measured_note(summary, unknown="the common test set"))
    held_out = [
        {**result, "metrics": {name: found[name] for name in METRIC_ORDER if name in found}}
        for result in results
        if (found := result.get("validation"))
    ]
    told = brief_table(held_out, "Measured on held-out rows; a model trained alone on that party's own.")
    return told or fold_brief(summary)


def _precision(summary: Mapping[str, Any]) -> str | None:
    compared = summary.get("compared_bits", [])
    if not compared:
        return None
    bits = ", ".join(str(item["value_bits"]) for item in compared)
    return f"{precision_sentence(summary) or ''} Compared at {bits} bits per value: the report has the table.".lstrip()


def _protected(summary: Mapping[str, Any], trust: str | None) -> str:
    if not is_encrypted(summary):
        return "NOTHING: the aggregator saw every party's update in the clear."
    clear = clear_share(summary)
    if clear is None:
        return protected_sentence(trust, "update")
    rest = protected_sentence(trust, "other values")
    return f"NOT {clear} of each party's update: the aggregator saw these values. {rest}"


def split_trust(caveats: Sequence[str]) -> tuple[str | None, list[str]]:
    """(the caveat that says who opens sums, all others)."""
    trust = next((caveat for caveat in caveats if caveat.startswith(_WHO_OPENS)), None)
    return trust, [caveat for caveat in caveats if caveat != trust]


def protected_sentence(trust: str | None, what: str) -> str:
    """From whom `what` of each party is protected, by the caveat that says who opens sums; None: it is not known."""
    if trust is None:
        return f"Each party's {what}, from the aggregator."
    committee = _COMMITTEE.fullmatch(trust)
    if committee is None:
        return f"Each party's {what}, from the aggregator. {capitalise(trust)}."
    if committee["whom"] == "alone":
        who = "from the aggregator as long as no party works with it"
    else:
        who = f"even from the aggregator {committee['whom']}"
    return f"Each party's {what}, {who}. {capitalise(committee['how'])}; no key opens an update."


def _time(summary: Mapping[str, Any]) -> str:
    seconds = summary["seconds"]
    encrypted, plain, key = seconds.get("encrypted"), seconds.get("plain"), seconds.get("key")
    if not is_encrypted(summary):
        return f"{format_seconds(plain)}."
    making = f", {format_seconds(key)} of it to make the key pair" if key else ""
    if plain is None:
        return f"{format_seconds(encrypted)}{making}. Not compared: no plain run was made beside it."
    ratio = seconds.get("ratio")
    times = f": {format_times(ratio)} as long{', the key apart' if key else ''}" if ratio is not None else ""
    small = "; with so small a model this says little about large ones" if fills_partly(summary) else ""
    return f"{format_seconds(encrypted)}{making}, {format_seconds(plain)} without encryption{times}{small}."


def _bytes(summary: Mapping[str, Any]) -> str:
    """What a party sends and receives in a round, the size of float32 numbers, and what all roles send in the run."""
    sizes = summary["bytes"]
    plain = format_byte_count(sizes["float32_per_update"])
    sends, gets = format_byte_count(sizes["update_sealed"]), format_byte_count(sizes["sum_sealed"])
    if sizes.get("to_openers_sealed"):
        sends += f" and {format_byte_count(sizes['to_openers_sealed'])} of shares"
        gets += f" and {format_byte_count(sizes['from_openers_sealed'])}"
    text = f"A party sends {sends} a round, gets {gets}; float32 numbers take {plain}."
    if sizes["update_sealed"] is None:
        text = "What a party sends in a round was not measured here."
    sent = sum(role["sent"] for role in sizes["by_role"].values())
    return f"{text} In all {format_byte_count(sent)}." if sent else text


def _not_compared(summary: Mapping[str, Any], caveats: list[str]) -> tuple[list[str], list[str]]:
    """What to say of parties that did not compare final models, and the caveats that say nothing of it."""
    found: dict[str, list[str]] = {}
    left = []
    for caveat in caveats:
        told = _NOT_COMPARED.fullmatch(caveat)
        if told is None:
            left.append(caveat)
        else:
            found.setdefault(told["missing"], []).append(told["party"])
    names = {party["name"] for party in summary["parties"]}
    sentences = []
    for missing, who in found.items():
        is_everybody = names <= {*who, *missing.split(", ")}
        doing = "Nobody compared the final model" if is_everybody else f"{join_names(who)} did not compare final models"
        sentences.append(f"{doing} with {missing}: nothing came from it.")
    return sentences, left


def _beyond_bound(summary: Mapping[str, Any]) -> str | None:
    beyond = [check["step"] for check in summary["exactness"] if check["largest_error"] > check["bound"]]
    if not beyond:
        return None
    count = f"{format_count(len(beyond))} {pluralise(len(beyond), 'sum')}"
    return f"{count} BEYOND THE STATED BOUND: this is a defect, please report it."


def _clipped(summary: Mapping[str, Any]) -> str | None:
    clipped = summary["clipped"]
    return clipping_sentence(summary) if clipped and clipped["count"] else None


def training_warning(summary: Mapping[str, Any]) -> str | None:
    """A sentence where training diverged, or its loss rose or still fell at the end; None otherwise."""
    return course_warning(_course(summary), "round", summary["settings"])


def training_sentence(summary: Mapping[str, Any]) -> str | None:
    """The warning, or that training converged; None where nothing is known of it."""
    return course_sentence(_course(summary), "round", summary["settings"])


def _course(summary: Mapping[str, Any]) -> Course:
    made = summary["rounds"].get("encrypted" if is_encrypted(summary) else "plain", [])
    asked = summary["settings"].get("rounds")
    stopped_early = bool(made) and isinstance(asked, int) and made[-1]["round"] < asked
    return course_of(summary, [item["loss"] for item in made], stopped_early=stopped_early)
