"""The findings of trees across rows as sentences, each derived from its figures."""

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
from hekat.report.horizontal.brief import protected_sentence, split_trust
from hekat.report.horizontal.dropouts import dropout_headline
from hekat.report.measured_rows import measured_note, rows_in_words, training_rows_warning
from hekat.report.number_text import (
    count_in_words,
    describe_metric,
    format_byte_count,
    format_count,
    format_metric,
    format_seconds,
    pluralise,
)
from hekat.report.table import METRIC_ORDER, Table, metric_names

_PRIVATE = "differential privacy of a row: "


def is_encrypted(summary: Mapping[str, Any]) -> bool:
    """Whether the run was protected."""
    return bool(summary["settings"]["protection"] != "none")


def is_private(summary: Mapping[str, Any]) -> bool:
    """Whether sums bore noise."""
    return summary["settings"].get("privacy_noise") is not None


def drawn_sentence(summary: Mapping[str, Any]) -> str:
    """What stands above the first trees."""
    if not summary["trees"]:
        return "The parties alone have the trees."
    if is_private(summary):
        return "Every party has all trees. Splits are drawn from the job's seed; no row is looked at, or counted."
    return "Every party has all trees; the rows of a node are counted in training, over all parties."


def verdict(summary: Mapping[str, Any]) -> str:
    """One sentence: who grew what together on how many rows, how protected, and how good it is."""
    parties, count = summary["parties"], len(summary["iterations"])
    rows = sum(party["rows"] - party.get("held_out", 0) for party in parties)
    how = (
        f"with every party's sums encrypted under {summary['settings']['protection']}"
        if is_encrypted(summary)
        else "WITHOUT protection (the aggregator saw every party's sums in the clear)"
    )
    text = (
        f"{count_in_words(len(parties), 'party')} grew the same trees in {format_count(count)} "
        f"{pluralise(count, 'iteration')} on {format_count(rows)} rows, {how}"
    )
    found = [one for one in (_on_test_rows(summary), validation_words(summary)) if one]
    return f"{text}: {'; '.join(found)}." if found else f"{text}."


def _on_test_rows(summary: Mapping[str, Any]) -> str:
    metrics = summary["results"][0]["metrics"]
    names = [name for name in ("auc", "rmse", *metric_names(summary)) if name in metrics]
    if not names:
        return ""
    return f"{describe_metric(names[0]).title} {format_metric(names[0], metrics[names[0]])} on {rows_in_words(summary)}"


def validation_words(summary: Mapping[str, Any]) -> str:
    """How good the final model is on rows that parties held out; "" where there are none."""
    found = summary["results"][0]["validation"]
    names = [name for name in ("auc", "rmse", *METRIC_ORDER) if name in found]
    if not names:
        return ""
    rows = f"{format_count(found['rows'])} held-out {pluralise(found['rows'], 'row')}"
    return f"{describe_metric(names[0]).title} {format_metric(names[0], found[names[0]])} on {rows}"


def cautions(summary: Mapping[str, Any]) -> list[str]:
    """What a reader has to be told before anything else."""
    told = (
        dropout_headline(summary),
        training_rows_warning(summary),
        short_key_warning(summary["settings"].get("key_bits")) if is_encrypted(summary) else None,
    )
    return [one for one in told if one]


def first_caution(summary: Mapping[str, Any]) -> str | None:
    """All cautions in one text; None where there is none."""
    return " ".join(cautions(summary)) or None


def training_sentences(summary: Mapping[str, Any]) -> list[str]:
    """How the loss went, whether training ended early, and how long an iteration took."""
    iterations = summary["iterations"]
    losses = [one["loss"] for one in iterations if one["loss"] is not None]
    found = []
    if losses:
        count = f"{format_count(len(iterations))} {pluralise(len(iterations), 'iteration')}"
        found.append(f"In {count} the training loss went to {losses[-1]:.6g}.")
    if summary["stopped_early"]:
        found.append("Training ended before the last iteration that the job allows: nothing improved any more.")
    timed = [one["seconds"] for one in iterations if one["seconds"] is not None]
    if timed:
        found.append(f"An iteration took {format_seconds(sum(timed) / len(timed))} on average.")
    return found


def time_sentence(summary: Mapping[str, Any]) -> str:
    """How long the whole run took."""
    seconds = summary["seconds"]["encrypted" if is_encrypted(summary) else "plain"]
    return f"The run took {format_seconds(seconds)}."


def byte_sentence(summary: Mapping[str, Any]) -> str | None:
    """What an iteration took; None where none was made here."""
    sent = summary["bytes"]["per_iteration"]
    return None if sent is None else f"For an iteration all parties sent {format_byte_count(sent)} on average."


def row_trees_brief(summary: Mapping[str, Any]) -> Brief:
    """What a run prints unasked."""
    trust, left = split_trust(summary["notes"])
    facts = (
        ("result", verdict(summary)),
        ("protected", f"{_protected(summary, trust)}{place_sentence(summary['notes'])}"),
        ("time", " ".join([time_sentence(summary), *training_sentences(summary)])),
        ("bytes", " ".join(one for one in (byte_sentence(summary), sent_sentence(summary)) if one)),
    )
    told = data_warnings(left)
    return Brief(_table(summary), facts, (*cautions(summary), *told), unusual_caveats(left, told=told))


def _table(summary: Mapping[str, Any]) -> Table | None:
    """Metrics on the common test set, or without one on held-out rows."""
    results = summary["results"]
    if any(result["metrics"] for result in results):
        return brief_table(results, measured_note(summary, unknown="the common test set"))
    held_out = [
        {**one, "metrics": {name: one["validation"][name] for name in METRIC_ORDER if name in one["validation"]}}
        for one in results
    ]
    return brief_table(held_out, "Measured on held-out rows of all parties.")


def _protected(summary: Mapping[str, Any], trust: str | None) -> str:
    if not is_encrypted(summary):
        return "NOTHING: the aggregator saw every party's histograms in the clear."
    if is_private(summary):
        private = next((one for one in summary["notes"] if one.startswith(_PRIVATE)), "differential privacy of a row")
        learned = f"Every party learned noised gradients by leaf of all parties: {private}."
        return f"{protected_sentence(trust, 'sums of leaves')} {learned}"
    learned = "Every party learned the sums over all parties: rows and gradients by node, column and bin."
    return f"{protected_sentence(trust, 'histograms')} {learned}"
