"""Numbers that stand as texts: the same class is "1" at one party, "+1" or "1.0" at another."""

from __future__ import annotations

import math


def read_number(text: str, decimal: str = ".") -> float | None:
    """The finite number that a text is, with this decimal sign; None for any other text."""
    if decimal == ",":
        if "." in text:
            return None
        text = text.replace(",", ".")
    if "_" in text:  # float() takes 1_000, as Python source does; a data file that holds it is a mistake
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def order_of_text(text: str) -> tuple[bool, float, str]:
    """By which texts are sorted: numbers in their order, before other texts in theirs."""
    number = read_number(text)
    return number is None, 0.0 if number is None else number, text


def describe_text(text: str, decimal: str = ".") -> str:
    """What kind of text stands where a number is asked for, in a few words without the text; "" for a number."""
    if read_number(text, decimal) is not None:
        return ""
    if decimal == "," and "." in text:
        is_number = read_number(text.replace(".", ""), ",") is not None
        return "a number with a decimal point or dots between digits" if is_number else "a text"
    try:
        value = float(text.replace(decimal, "."))
    except ValueError:
        is_decimal_comma = text.count(",") == 1 and read_number(text, ",") is not None
        return "a number with a decimal comma" if is_decimal_comma else "a text"
    if "_" in text:
        return "a text"
    return "NaN" if math.isnan(value) else "an infinite value"


def shortest_whole(text: str) -> str:
    """A text that is a whole number in its shortest form, "1" for "+1" and "1.0"; any other text as it is."""
    try:
        value = float(text)
    except ValueError:
        return text
    return str(int(value)) if value.is_integer() and "_" not in text else text


def text_of(value: float) -> str:
    """A number as the text that a class or category is called by; 1.0 is "1"."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def count_of(number: int, noun: str) -> str:
    """A number of things: 1 iteration, 1,000 iterations."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
