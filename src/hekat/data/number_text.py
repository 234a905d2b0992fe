"""Whole numbers that stand as texts: the same class is "1" at one party, "+1" or "1.0" at another."""

from __future__ import annotations


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
