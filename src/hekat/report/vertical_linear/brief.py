"""A vertical regression in short: its models, what is protected from whom, time and bytes, warnings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hekat.report.brief import (
    Brief,
    brief_table,
    data_warnings,
    place_sentence,
    sent_sentence,
    short_key_warning,
    unusual_caveats,
)
from hekat.report.measured_rows import measured_note, training_rows_warning
from hekat.report.number_text import format_count, format_seconds
from hekat.report.training_course import Course, converged_words, course_of, course_sentence, course_warning
from hekat.report.vertical.sentences import label_sentence, time_sentences
from hekat.report.vertical.trained_rows import trained_count
from hekat.report.vertical_linear.findings import (
    exactness_sentences,
    is_encrypted,
    leak_cautions,
    score_sentences,
    start_sentences,
    verdict,
)
from hekat.report.vertical_linear.tables import learned_with_total

_GRADIENTS = "guest and hosts see their own gradients"
_ARBITER = " holds the key and sees masked gradients only"


def vertical_brief(summary: Mapping[str, Any]) -> Brief:
    """What a vertical regression prints unasked."""
    note = "" if summary["test_rows"] is None else measured_note(summary)
    told = [verdict(summary), *start_sentences(summary), *score_sentences(summary)]
    told.append(converged_words(_course(summary), "epoch"))
    facts = (
        ("result", " ".join(sentence for sentence in told if sentence)),
        ("protected", f"{_protected(summary)}{label_sentence(summary)}{place_sentence(summary['notes'])}"),
        ("time", _time(summary)),
        ("bytes", sent_sentence(summary)),
        ("checked", exactness_sentences(summary)[0]),
    )
    warnings = (
        *leak_cautions(summary),
        training_rows_warning(summary),
        short_key_warning(summary["settings"].get("key_bits")) if is_encrypted(summary) else None,
        training_warning(summary),
        *data_warnings(summary["notes"]),
    )
    return Brief(
        brief_table(summary["results"], note),
        facts,
        tuple(warning for warning in warnings if warning),
        unusual_caveats(summary["notes"], told=[*_told(summary["notes"]), *data_warnings(summary["notes"])]),
    )


def _told(caveats: Sequence[str]) -> list[str]:
    """The caveats that `protected` says in its own words."""
    return [caveat for caveat in caveats if caveat.startswith(_GRADIENTS) or _ARBITER in caveat]


def _protected(summary: Mapping[str, Any]) -> str:
    settings = summary["settings"]
    if not is_encrypted(summary):
        return "NOTHING: parties saw each other's residuals and gradients in the clear."
    what = f"The labels of {settings['guest']} and every party's columns, from all others"
    if settings["form"] == "shared_weights":
        holders = settings.get("share_holders")
        if holders:
            return (
                f"{what}: no party sees a gradient or a weight. {' and '.join(holders)} hold shares, and must not work "
                "together."
            )
        return f"{what}: no party sees a gradient or a weight, each keeps shares."
    arbiter = settings.get("arbiter") or "the arbiter"
    counts = [f"{found['party']} {format_count(found['equations'])}" for found in learned_with_total(summary)]
    rows = format_count(trained_count(summary))
    return (
        f"{what}, as long as {arbiter}, which holds the key, works with none of them. Each party's own gradients are "
        f"linear equations on what the others hold ({', '.join(counts)}, over {rows} rows)."
    )


def _time(summary: Mapping[str, Any]) -> str:
    timed = [epoch["seconds"] for epoch in summary["epochs"] if epoch["seconds"] is not None]
    each = f" An epoch took {format_seconds(sum(timed) / len(timed))} on average." if timed else ""
    return f"{' '.join(time_sentences(summary))}{each}"


def training_warning(summary: Mapping[str, Any]) -> str | None:
    """A sentence where training diverged, or its loss rose or still fell at the end; None otherwise."""
    return course_warning(_course(summary), "epoch", summary["settings"])


def training_sentence(summary: Mapping[str, Any]) -> str | None:
    """The warning, or that training converged; None where nothing is known of it."""
    return course_sentence(_course(summary), "epoch", summary["settings"])


def _course(summary: Mapping[str, Any]) -> Course:
    losses = [epoch["loss"] for epoch in summary["epochs"] if epoch["loss"] is not None]
    return course_of(summary, losses, stopped_early=summary["stopped_early"])
