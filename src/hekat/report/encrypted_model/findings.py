"""The findings of a training on an encrypted model as sentences, each derived from its figures."""

from __future__ import annotations

from collections.abc import Mapping
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
from hekat.report.encrypted_model.measured import measured_words, models_in_words
from hekat.report.measured_rows import training_rows_warning
from hekat.report.number_text import (
    count_in_words,
    describe_metric,
    format_byte_count,
    format_count,
    format_metric,
    format_seconds,
    join_names,
    pluralise,
)
from hekat.report.table import metric_names
from hekat.report.training_course import DIVERGED, Course, course_warning, has_diverged


def is_encrypted(summary: Mapping[str, Any]) -> bool:
    """Whether the run was protected."""
    return bool(summary["settings"]["protection"] != "none")


def verdict(summary: Mapping[str, Any]) -> str:
    """One sentence: who trained for whom on how many rows, how protected, and how good the model is."""
    if has_diverged(summary):
        return DIVERGED
    settings, count, rows = summary["settings"], len(summary["rounds"]), summary["training_rows"]
    how = (
        f"that they could not read, encrypted under {settings['protection']},"
        if is_encrypted(summary)
        else "WITHOUT protection (all roles saw it in the clear)"
    )
    on_rows = f" on {format_count(rows)} rows" if rows else ""
    text = (
        f"{count_in_words(len(settings['hosts']), 'host')} trained a model {how} for {settings['owner']}, in "
        f"{format_count(count)} {pluralise(count, 'round')}{on_rows}"
    )
    found = _on_rows(summary)
    return f"{text}: {found}." if found else f"{text}."


def _on_rows(summary: Mapping[str, Any]) -> str:
    metrics = summary["results"][0]["metrics"]
    names = [name for name in ("auc", "rmse", *metric_names(summary)) if name in metrics]
    if not names:
        return ""
    return (
        f"{describe_metric(names[0]).title} {format_metric(names[0], metrics[names[0]])} on {measured_words(summary)}"
    )


def learned_sentence(summary: Mapping[str, Any]) -> str:
    """Who learned the model, and who did not."""
    settings = summary["settings"]
    if not is_encrypted(summary):
        return "Every role could read the model of every round."
    owner, hosts = settings["owner"], [name for name in settings["hosts"] if name != settings["owner"]]
    others = join_names([*hosts, settings["arbiter"], settings["aggregator"]])
    moments = f" Hosts and {owner} learned mean and spread of each column." if settings.get("standardise") else ""
    return f"{owner} alone got {models_in_words(summary)}; {others} never saw a weight.{moments}"


def protected_sentence(summary: Mapping[str, Any]) -> str:
    """What is protected from whom, and on whose word."""
    settings = summary["settings"]
    if not is_encrypted(summary):
        return "NOTHING: model and steps were sent in the clear."
    return (
        f"The model, from the hosts that train it, and each host's rows, from all others, as long as "
        f"{settings['arbiter']}, who has the key, works neither with {settings['aggregator']} nor with a host, and "
        f"{settings['aggregator']} not with {settings['owner']}."
    )


def training_sentences(summary: Mapping[str, Any]) -> list[str]:
    """How many rounds there were, and how long one took."""
    timed = [one["seconds"] for one in summary["rounds"] if one["seconds"] is not None]
    if not timed:
        return []
    return [f"A round took {format_seconds(sum(timed) / len(timed))} on average."]


def time_sentence(summary: Mapping[str, Any]) -> str:
    """How long the whole run took."""
    return f"The run took {format_seconds(summary['seconds']['total'])}."


def byte_sentence(summary: Mapping[str, Any]) -> str | None:
    """What a round took on average; None where not all roles are known."""
    traffic, timed = summary["bytes"]["by_role"], [one for one in summary["rounds"] if one["seconds"] is not None]
    roles = {*summary["settings"]["hosts"], *(summary["settings"][role] for role in ("arbiter", "aggregator"))}
    if not timed or not roles <= traffic.keys():
        return None
    sent = sum(traffic[role]["sent"] for role in roles)
    return f"All roles sent {format_byte_count(round(sent / len(timed)))} for a round, the start included."


def course_words(summary: Mapping[str, Any]) -> str | None:
    """What nobody may miss of how the losses went; None where they went well, or are not known."""
    course: Course | None = summary["convergence"]
    return None if course is None else course_warning(course, "round", summary["settings"])


def cautions(summary: Mapping[str, Any]) -> list[str]:
    """What a reader has to be told before anything else."""
    told = (
        training_rows_warning(summary),
        short_key_warning(summary["settings"].get("key_bits")) if is_encrypted(summary) else None,
        course_words(summary),
    )
    return [one for one in told if one]


def first_caution(summary: Mapping[str, Any]) -> str | None:
    """All cautions in one text; None where there is none."""
    return " ".join(cautions(summary)) or None


def encrypted_model_brief(summary: Mapping[str, Any]) -> Brief:
    """What a run prints unasked."""
    note = (
        ""
        if summary["test_rows"] is None
        else f"Measured by {summary['settings']['owner']} on {measured_words(summary)}."
    )
    told = data_warnings(summary["notes"])
    facts = (
        ("result", verdict(summary)),
        ("learned", learned_sentence(summary)),
        ("protected", f"{protected_sentence(summary)}{place_sentence(summary['notes'])}"),
        ("time", " ".join([time_sentence(summary), *training_sentences(summary)])),
        ("bytes", " ".join(one for one in (byte_sentence(summary), sent_sentence(summary)) if one)),
    )
    left = unusual_caveats(summary["notes"], told=[*told, *_said(summary)])
    return Brief(brief_table(summary["results"], note), facts, (*cautions(summary), *told), left)


def _said(summary: Mapping[str, Any]) -> list[str]:
    """The caveats that the facts say in their own words."""
    settings = summary["settings"]
    starts = (
        "hosts train on weights",
        f"{settings['arbiter']} and ",
        f"{settings['aggregator']} and {settings['owner']} must not work",
        f"{settings['owner']} has the final model",
        *([f"hosts and {settings['owner']} learned the mean"] if len(settings["hosts"]) > 2 else []),
        "metrics are of the ",
    )
    return [note for note in summary["notes"] if note.startswith(starts)]
