"""Texts for people: what could steer a terminal is shown as codes, and what is far too long is cut."""

from __future__ import annotations

from typing import Final

# Of a text that is cut: enough to see what it is.
_KEPT_OF_BEGINNING: Final = 160
_KEPT_OF_END: Final = 80


def printable(text: object, *, keep: str = "") -> str:
    """`text` with every character that is not printable as \\x.., \\u.... or \\U........; those in `keep` stay.

    Names, classes and steps come from other organisations' files: an escape sequence in one of them could rewrite what
    stands on the screen, and a line break could forge a line.
    """
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(char if char.isprintable() or char in keep else _code_of(char) for char in shown)


def cut_long(text: str, longest: int) -> str:
    """`text`, or where it has more than `longest` characters its beginning and end, with the number of characters.

    Examples:
        >>> cut_long("x" * 100, 200) == "x" * 100
        True
        >>> len(cut_long("x" * 5000, 200))
        275
    """
    if len(text) <= longest:
        return text
    return f"{text[:_KEPT_OF_BEGINNING]} ... ({len(text):,} characters in all) ... {text[-_KEPT_OF_END:]}"


def _code_of(char: str) -> str:
    number = ord(char)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
