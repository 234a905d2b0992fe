"""The sentences that reports of all runs on columns have: how good the model is, and where the time went."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.report.measured_rows import SAYS_NOTHING, are_training_rows, rows_in_words
from hekat.report.number_text import describe_metric, format_metric, format_seconds
from hekat.report.table import metric_names


def label_sentence(summary: Mapping[str, Any]) -> str:
    """That labels were replaced, with a blank before it; empty without label privacy."""
    epsilon = summary["settings"].get("label_privacy")
    if epsilon is None:
        return ""
    guest = summary["settings"]["guest"]
    return f" The labels of {guest} are replaced by chance, epsilon {epsilon:g}: nothing tells more of one than that."


def quality_in_words(summary: Mapping[str, Any], beside: Mapping[str, str]) -> str:
    """The main metric of the run, and the same metric of every other model; `beside` says by kind who made that."""
    main = next((result for result in summary["results"] if result["kind"] in ("encrypted", "plain")), None)
    names = [name for name in ("auc", "rmse", *metric_names(summary)) if main and name in main["metrics"]]
    if main is None or not names:
        return ""
    name = names[0]
    others = [
        f"{format_metric(name, result['metrics'][name])} {beside[result['kind']]}"
        for result in summary["results"]
        if result["kind"] in beside and name in result["metrics"]
    ]
    found = f"{describe_metric(name).title} {format_metric(name, main['metrics'][name])} on {rows_in_words(summary)}"
    said = f"{found}, {', '.join(others)}" if others else found
    return f"{said}, {SAYS_NOTHING}" if are_training_rows(summary) else said


def time_sentences(summary: Mapping[str, Any]) -> list[str]:
    """Where the time went."""
    seconds = summary["seconds"]
    named = {"intersection": "finding common rows", "training": "training", "prediction": "predicting test rows"}
    parts = [f"{format_seconds(seconds[name])} {text}" for name, text in named.items() if seconds[name]]
    return [f"The session took {format_seconds(seconds['total'])}{': ' + ', '.join(parts) if parts else ''}."]
