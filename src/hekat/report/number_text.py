"""Numbers as people read them: three significant digits, units, powers of ten with real exponents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_BYTE_UNITS = ("B", "kB", "MB", "GB", "TB")
_WORDS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")
NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Metric:
    """How one metric is called and read; `higher_is_better` is None where Hekat does not know the metric."""

    title: str
    higher_is_better: bool | None
    percent: bool = False


_METRICS = {
    "accuracy": Metric("accuracy", True, percent=True),
    "log_loss": Metric("log-loss", False),
    "auc": Metric("AUC", True),
    "rmse": Metric("RMSE", False),
    "r2": Metric("R²", True),
}


def describe_metric(name: str) -> Metric:
    """The metric of that name in summary.json; an unknown one keeps its name."""
    return _METRICS.get(name, Metric(name, None))


def format_metric(name: str, value: float | None) -> str:
    """Accuracy as a percentage with one decimal; others with four decimals, or whole from 1000 on."""
    if value is None:
        return NOT_MEASURED
    if describe_metric(name).percent:
        return f"{100 * value:.1f}%"
    if 1000 <= abs(value) < 1e9:
        return f"{value:,.0f}"
    return f"{value:.4f}" if 0.001 <= abs(value) < 1000 or value == 0 else format_number(value)


def format_difference(name: str, value: float) -> str:
    """A signed difference of two metrics; percentages differ in points."""
    if value == 0:
        return "0 points" if describe_metric(name).percent else "0"
    sign = "+" if value > 0 else "−"
    if describe_metric(name).percent:
        return f"{sign}{format_number(abs(100 * value))} points"
    return sign + format_number(abs(value))


def format_number(value: float | None) -> str:
    """Three significant digits: 0.0123, 1.23, 12,300, 1.23 × 10⁻⁶; whole numbers below a million in full."""
    if value is None:
        return NOT_MEASURED
    if float(value).is_integer() and abs(value) < 1e6:
        return format_count(int(value))
    rounded = float(f"{value:.2e}")
    exponent = math.floor(math.log10(abs(rounded)))
    if -4 <= exponent < 6:
        return f"{rounded:.{max(0, 2 - exponent)}f}" if exponent < 3 else format_count(round(rounded))
    mantissa, power = f"{value:.2e}".split("e")
    return f"{mantissa} × 10{str(int(power)).translate(_SUPERSCRIPTS)}"


def format_count(value: int) -> str:
    """A whole number with thousands set apart: 12,345."""
    return f"{value:,}"


def format_seconds(value: float | None) -> str:
    """Seconds with three significant digits; milliseconds below 0.1 s."""
    if value is None:
        return NOT_MEASURED
    return f"{format_number(1000 * value)} ms" if 0 < value < 0.1 else f"{format_number(value)} s"


def format_byte_count(value: int | None) -> str:
    """Bytes with a decimal unit and three significant digits, exact below 1000: 768 B, 2.37 kB."""
    if value is None:
        return NOT_MEASURED
    place = 0
    shown = float(value)
    while float(f"{shown:.3g}") >= 1000 and place < len(_BYTE_UNITS) - 1:
        shown, place = shown / 1000, place + 1
    return f"{format_number(shown)} {_BYTE_UNITS[place]}"


def format_times(value: float | None) -> str:
    """A ratio: 19.1 times."""
    return NOT_MEASURED if value is None else f"{format_number(value)} times"


def format_share(value: float) -> str:
    """A share of one as a percentage: 24.1%."""
    return f"{format_number(100 * value)}%"


def count_in_words(value: int, noun: str) -> str:
    """Five parties; 12 parties: a count that can open a sentence. `noun` is the singular."""
    word = _WORDS[value] if value < len(_WORDS) else format_count(value)
    return f"{word} {pluralise(value, noun)}"


def join_names(names: Sequence[str]) -> str:
    """A, b and c."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def pluralise(value: int, noun: str) -> str:
    """The noun for that many: party, parties."""
    if value == 1:
        return noun
    return noun[:-1] + "ies" if noun.endswith("y") else noun + "s"


def capitalise(text: str) -> str:
    """`text` with its first letter large; the rest stays."""
    return text[:1].upper() + text[1:]
