"""The findings of trees across columns as sentences, each derived from its figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.report.brief import (
    RECOMMENDED_KEY_BITS,
    Brief,
    brief_table,
    data_warnings,
    place_sentence,
    sent_sentence,
    short_key_warning,
    unusual_caveats,
)
from hekat.report.measured_rows import (
    measured_note,
    training_rows_warning,
)
from hekat.report.number_text import (
    count_in_words,
    format_count,
    format_number,
    format_seconds,
    format_share,
    join_names,
    pluralise,
)
from hekat.report.trees.tables import importance_by_owner
from hekat.report.vertical.sentences import label_sentence, quality_in_words, time_sentences
from hekat.report.vertical.trained_rows import trained_in_words

_BESIDE = {"centralised": "by plain trees on the joined rows", "scikit-learn": "by scikit-learn on the joined rows"}


def is_encrypted(summary: Mapping[str, Any]) -> bool:
    """Whether the run was protected."""
    return bool(summary["settings"]["protection"] != "none")


def verdict(summary: Mapping[str, Any]) -> str:
    """One sentence: who trained what together on how many rows, how protected, and how good it is."""
    columns = sum(party["columns"] or 0 for party in summary["parties"])
    count = len(summary["iterations"])
    how = (
        f"with gradients encrypted under {summary['settings']['protection']}"
        if is_encrypted(summary)
        else "WITHOUT protection (the guest's gradients were sent in the clear)"
    )
    text = (
        f"{join_names([party['name'] for party in summary['parties']])} grew trees in {format_count(count)} "
        f"{pluralise(count, 'iteration')} on {count_in_words(columns, 'column').lower()} of "
        f"{trained_in_words(summary)}, {how}"
    )
    quality = quality_in_words(summary, _BESIDE)
    return f"{text}: {quality}." if quality else f"{text}."


def cautions(summary: Mapping[str, Any]) -> list[str]:
    """What a reader has to be told before anything else."""
    settings, found = summary["settings"], []
    if settings.get("bin_leak_accepted") is not None:
        found.append(
            f"The job WAIVED the limit on what sums tell of hosts' columns: {settings['guest']} knows every gradient "
            "and may be able to solve for the bin of each row."
        )
    told = training_rows_warning(summary)
    found += [told] if told else []
    bits = settings.get("key_bits")
    if is_encrypted(summary) and bits is not None and bits < RECOMMENDED_KEY_BITS:
        found.append(str(short_key_warning(bits)))
    return found


def first_caution(summary: Mapping[str, Any]) -> str | None:
    """All cautions in one text; None where there is none."""
    return " ".join(cautions(summary)) or None


def training_sentences(summary: Mapping[str, Any]) -> list[str]:
    """How the loss went, whether training ended early, and how long an iteration took."""
    iterations = summary["iterations"]
    losses = [one["loss"] for one in iterations if one["loss"] is not None]
    started_from = summary.get("started_from")
    found = []
    if started_from is not None:
        found.append(
            f"Training went on with the trees of run {started_from}, each party with its own part and in its bins."
        )
    if losses:
        count = f"{format_count(len(iterations))} {pluralise(len(iterations), 'iteration')}"
        found.append(f"In {count} the training loss went from {losses[0]:.6g} to {losses[-1]:.6g}.")
    if summary["stopped_early"]:
        found.append("Rows held out for stopping ended training before the last iteration that the job allows.")
    timed = [one["seconds"] for one in iterations if one["seconds"] is not None]
    if timed:
        found.append(f"An iteration took {format_seconds(sum(timed) / len(timed))} on average.")
    return found


def importance_sentences(summary: Mapping[str, Any]) -> list[str]:
    """Whose columns did how much; empty where nobody here knows."""
    by_owner = importance_by_owner(summary)
    total = sum(gain for gain, _ in by_owner.values())
    if not total:
        return []
    shares = [f"{owner} {format_share(gain / total)}" for owner, (gain, _) in by_owner.items()]
    return [f"Share of all gain, by who holds the column: {', '.join(shares)}."]


def compared_sentences(summary: Mapping[str, Any]) -> list[str]:
    """How far the scores are from the scores of plain trees on the joined rows; empty where none were grown."""
    compared = summary["compared"]
    if compared is None:
        return []
    rows = f"{format_count(compared['rows'])} {pluralise(compared['rows'], 'row')}"
    difference, plain = compared["largest_score_difference"], "plain trees on the joined rows with the same rounding"
    if not difference:
        return [f"On {rows} every score is what {plain} give, to the last bit."]
    found = [f"On {rows} no score is farther than {format_number(difference)} from {plain}."]
    if summary.get("started_from") is not None:
        found.append(
            "These begin anew by the settings of this job; the earlier trees of this run were grown by its own."
        )
    return found


def trees_brief(summary: Mapping[str, Any]) -> Brief:
    """What a training of trees prints unasked."""
    note = "" if summary["test_rows"] is None else measured_note(summary)
    facts = (
        ("result", " ".join([verdict(summary), *compared_sentences(summary), *importance_sentences(summary)])),
        ("protected", f"{_protected(summary)}{label_sentence(summary)}{place_sentence(summary['notes'])}"),
        ("time", " ".join([*time_sentences(summary), *training_sentences(summary)[-1:]])),
        ("bytes", sent_sentence(summary)),
    )
    warnings = (*cautions(summary), *data_warnings(summary["notes"]))
    told = data_warnings(summary["notes"])
    return Brief(brief_table(summary["results"], note), facts, warnings, unusual_caveats(summary["notes"], told=told))


def _protected(summary: Mapping[str, Any]) -> str:
    settings = summary["settings"]
    if not is_encrypted(summary):
        return "NOTHING: hosts saw the guest's gradients, which give labels away."
    least = settings["min_samples_leaf"]
    learned = (
        f"sums over bins in every node, of fewer than {format_count(least)} rows too. Hosts did not see which rows a "
        "node has."
        if settings["hide_partition"]
        else f"sums over bins, each of {format_count(least)} rows or more. Hosts saw which rows each node has."
    )
    return (
        f"The gradients of {settings['guest']}, from all hosts; thresholds of a party, from all others. "
        f"{settings['guest']} learned {learned}"
    )
