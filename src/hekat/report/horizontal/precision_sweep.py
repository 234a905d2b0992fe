"""The job at other bits per value: what each number of bits costs and how good its model is, in a table and a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.report.measured_rows import are_training_rows
from hekat.report.number_text import (
    describe_metric,
    format_byte_count,
    format_difference,
    format_metric,
    format_number,
    format_share,
)
from hekat.report.table import METRIC_ORDER, Table

TRAINING_LOSS = "loss"
# Below it the share is not spelt out.
_LEAST_BIAS = 1e-5
_WHERE = {"metrics": "on the common test set", "validation": "on rows that the parties held out", "": "at the end"}


def compared_metric(summary: Mapping[str, Any]) -> tuple[str, str]:
    """(where it was measured, metric): on the common test set, or on held-out rows, or the final training loss.

    The place is a key of a result, "metrics" or "validation"; it is empty for the training loss.
    """
    for place in ("metrics", "validation"):
        found = [name for name in METRIC_ORDER if all(name in item[place] for item in summary["compared_bits"])]
        if found:
            return place, found[0]
    return "", TRAINING_LOSS


def compared_values(summary: Mapping[str, Any]) -> list[float]:
    """The metric for each number of bits, in the order of the summary."""
    place, name = compared_metric(summary)
    return [item[place][name] if place else item["loss"] for item in summary["compared_bits"]]


def plain_value(summary: Mapping[str, Any]) -> float | None:
    """The same metric of the run without encryption; None where there was none."""
    place, name = compared_metric(summary)
    if not place:
        made = summary["rounds"].get("plain")
        return made[-1]["loss"] if made else None
    plain = next((result for result in summary["results"] if result["kind"] == "plain"), None)
    value: float | None = None if plain is None else plain.get(place, {}).get(name)
    return value


def metric_words(summary: Mapping[str, Any]) -> tuple[str, str]:
    """(metric, where it was measured), for people: "accuracy", "on the common test set"."""
    place, name = compared_metric(summary)
    return (describe_metric(name).title if place else "training loss"), _where(summary, place)


def _where(summary: Mapping[str, Any], place: str) -> str:
    return "on the training rows" if place == "metrics" and are_training_rows(summary) else _WHERE[place]


def precision_table(summary: Mapping[str, Any]) -> Table | None:
    """A line for each number of bits; None where none was compared."""
    compared = summary.get("compared_bits", [])
    if not compared:
        return None
    _, name = compared_metric(summary)
    title, where = metric_words(summary)
    plain, own = plain_value(summary), summary["settings"].get("value_bits")
    rows = [
        (
            f"{item['value_bits']}{' (job)' if item['value_bits'] == own else ''}",
            format_metric(name, value),
            "–" if plain is None else format_difference(name, value - plain),
            _bias(item["convergence_bias"]),
            format_byte_count(item["update_sealed"]),
            "–" if item.get("bits_per_value_up") is None else format_number(item["bits_per_value_up"]),
            "–" if not (item["clipped"] or {}).get("of") else _share(item["clipped"]),
        )
        for item, value in zip(compared, compared_values(summary), strict=True)
    ]
    if plain is not None:
        rows.append(("plain", format_metric(name, plain), "", "", "", "", ""))
    return Table(
        f"Bits against {title}",
        (
            "bits",
            title,
            "minus plain",
            "bias",
            "up a round",
            "large model",
            "clipped",
        ),
        tuple(rows),
        f"The same job, data and seeds each time, encrypted; only the bits of a value differ. {title[:1].upper()}"
        f"{title[1:]}: {where}. Bias: by what share of it the final training loss differs from the plain one. Up a "
        "round: bytes of one party, sealed. Large model: bits up for each value in full ciphertexts (calculated).",
    )


def precision_sentence(summary: Mapping[str, Any]) -> str | None:
    """The fewest bits that did as well as plain, to the digits shown; None where this cannot be told."""
    compared, plain = summary.get("compared_bits", []), None
    if compared:
        plain = plain_value(summary)
    if plain is None:
        return None
    _, name = compared_metric(summary)
    title, where = metric_words(summary)
    shown = format_metric(name, plain)
    equal = [
        item["value_bits"]
        for item, value in zip(compared, compared_values(summary), strict=True)
        if format_metric(name, value) == shown
    ]
    if not equal:
        return f"None of these numbers of bits gives the {title} {shown} that training without encryption has {where}."
    bits = "1 bit" if min(equal) == 1 else f"{min(equal)} bits"
    return f"With {bits} per value the {title} {where} is {shown}, as without encryption."


def _bias(value: float | None) -> str:
    if value is None:
        return "–"
    return "< 0.001%" if 0 < value < _LEAST_BIAS else format_share(value)


def _share(clipped: Mapping[str, int]) -> str:
    return format_share(clipped["count"] / clipped["of"]) if clipped["count"] else "none"
