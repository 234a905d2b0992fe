"""The findings of a vertical regression as sentences, each derived from its figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.report.brief import RECOMMENDED_KEY_BITS
from hekat.report.measured_rows import training_rows_warning
from hekat.report.number_text import (
    count_in_words,
    format_count,
    format_number,
    format_seconds,
    format_share,
    join_names,
    pluralise,
)
from hekat.report.training_course import DIVERGED, has_diverged
from hekat.report.vertical.sentences import quality_in_words
from hekat.report.vertical.trained_rows import trained_in_words
from hekat.report.vertical_linear.tables import learned_with_total

_BESIDE = {
    "centralised": "trained centrally on the joined rows",
    "scikit-learn": "by scikit-learn on the joined rows",
    "alone": "by the guest alone",
}


def is_encrypted(summary: Mapping[str, Any]) -> bool:
    """Whether the run was protected."""
    return bool(summary["settings"]["protection"] != "none")


def verdict(summary: Mapping[str, Any]) -> str:
    """One sentence: who trained what together on how many rows, how protected, and how good it is."""
    holders = [party["name"] for party in summary["parties"] if party["role"] != "arbiter"]
    columns = sum(party["columns"] or 0 for party in summary["parties"])
    model = "logistic regression" if summary["task"] == "classification" else "linear regression"
    how = _protection(summary) if is_encrypted(summary) else "WITHOUT protection (parties saw each other's values)"
    beginning = f"{DIVERGED} " if has_diverged(summary) else ""
    text = (
        f"{beginning}{join_names(holders)} trained one {model} of {count_in_words(columns, 'column').lower()} on "
        f"{trained_in_words(summary)}, {how}"
    )
    quality = quality_in_words(summary, _BESIDE)
    return f"{text}: {quality}." if quality else f"{text}."


def _protection(summary: Mapping[str, Any]) -> str:
    if summary["settings"]["form"] == "shared_weights":
        return "with weights that stay in shares"
    return f"with gradients that {summary['settings'].get('arbiter') or 'an arbiter'} opened masked"


def leak_cautions(summary: Mapping[str, Any]) -> list[str]:
    """What the job let gradients tell beyond the limits of the protocol."""
    found = []
    waived = [one for one in summary["learned"] if one["waived"] and one["party"] in summary["settings"]["hosts"]]
    if waived:
        names = join_names([one["party"] for one in waived])
        found.append(
            f"The job WAIVED the limit on what gradients tell of labels: {names} may be able to solve for labels of "
            "the guest. The report's table of equations over rows says how many equations there are."
        )
    guest = summary["settings"]["guest"]
    if any(one["waived"] for one in summary["learned"] if one["party"] == guest):
        found.append(
            f"The job WAIVED the limit on what the guest's gradients tell of hosts: {guest} may be able to solve for "
            "scores and columns of hosts."
        )
    return found


def cautions(summary: Mapping[str, Any]) -> list[str]:
    """What a reader has to be told before anything else."""
    found = [*leak_cautions(summary), *([told] if (told := training_rows_warning(summary)) else [])]
    bits = summary["settings"].get("key_bits")
    if is_encrypted(summary) and bits is not None and bits < RECOMMENDED_KEY_BITS:
        found.append(
            f"The key has {format_count(bits)} bits, fewer than the {format_count(RECOMMENDED_KEY_BITS)} that Hekat "
            "takes unless told otherwise. For data that must stay secret for long, set protection.key_bits = 3072."
        )
    return found


def first_caution(summary: Mapping[str, Any]) -> str | None:
    """All cautions in one text; None where there is none."""
    return " ".join(cautions(summary)) or None


def start_sentences(summary: Mapping[str, Any]) -> list[str]:
    """Whose weights training began with; empty where it began with weights of zero."""
    started_from = summary.get("started_from")
    if started_from is None:
        return []
    found = [f"Training began with the weights of run {started_from}, each party with its own part."]
    if summary["settings"].get("standardise", True):
        found.append("They were taken as they are, in standardised units: by means and spreads of this run's rows.")
    return found


def training_sentences(summary: Mapping[str, Any]) -> list[str]:
    """What training began with, how the loss went, whether the stop rule ended it, and how long an epoch took."""
    epochs = summary["epochs"]
    losses = [epoch["loss"] for epoch in epochs if epoch["loss"] is not None]
    found = start_sentences(summary)
    if losses:
        count = f"{format_count(len(epochs))} {pluralise(len(epochs), 'epoch')}"
        found.append(f"In {count} the training loss went from {losses[0]:.6g} to {losses[-1]:.6g}.")
    if summary["stopped_early"]:
        found.append("The stop rule ended training before the last epoch that the job allows.")
    timed = [epoch["seconds"] for epoch in epochs if epoch["seconds"] is not None]
    if timed:
        found.append(f"An epoch took {format_seconds(sum(timed) / len(timed))} on average.")
    return found


def score_sentences(summary: Mapping[str, Any]) -> list[str]:
    """How far the scores are from the scores of centralised training; empty where no such model was trained."""
    compared = summary["compared"]
    if compared is None:
        return []
    score_bits = summary["settings"].get("score_bits")
    found = [
        f"On {format_count(compared['rows'])} {pluralise(compared['rows'], 'row')} no score is farther than "
        f"{format_number(compared['largest_score_difference'])} from centralised training of the same objective"
        + (f"; receivers learn scores to 2^-{score_bits}." if score_bits is not None else ".")
    ]
    if summary.get("started_from") is not None:
        found.append("Centralised training began with weights of zero, this run did not: differences show that too.")
    return found


def compared_sentences(summary: Mapping[str, Any]) -> list[str]:
    """How far scores and loss are from centralised training; empty where no such model was trained."""
    found, compared = score_sentences(summary), summary["compared"]
    if compared is not None and compared["loss"] is not None and compared["centralised_loss"] is not None:
        difference = abs(compared["loss"] - compared["centralised_loss"])
        found.append(
            f"The last epoch's losses differ by {format_number(difference)} "
            f"({compared['loss']:.6g}, centralised {compared['centralised_loss']:.6g})."
        )
    return found


def exactness_sentences(summary: Mapping[str, Any]) -> list[str]:
    """Whether every checked step lay within its bound, and how near the worst came."""
    checks = summary["exactness"]
    if not checks:
        return [
            "This run did not compare its steps with exact arithmetic: set `exactness = true` under [checks] for that."
        ]
    beyond = [check["step"] for check in checks if check["largest_error"] > check["bound"]]
    number = (
        f"Steps of {format_count(len(checks))} {pluralise(len(checks), 'epoch')} were compared with exact arithmetic"
    )
    if beyond:
        return [f"{number}: {len(beyond)} BEYOND THE STATED BOUND ({', '.join(beyond)}): a defect, please report it."]
    worst = max((check["largest_error"] / check["bound"] for check in checks if check["bound"]), default=0.0)
    return [f"{number}: all within the stated bound; the nearest came to {format_share(worst)} of its bound."]


def equation_sentences(summary: Mapping[str, Any]) -> list[str]:
    """What each party's gradients tell of the others, in a line each."""
    return [
        f"{found['party']}: {format_count(found['equations'])} linear equations over {format_count(found['rows'])} rows"
        + (" (the job waived the limit)" if found["waived"] else "")
        for found in learned_with_total(summary)
        if found["equations"]
    ] or ["No party saw a gradient or a plain weight."]
