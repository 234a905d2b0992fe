"""The last step of every text to the terminal: shows characters that could steer a terminal as codes."""

from __future__ import annotations


def printable(text: object, *, keep: str = "") -> str:
    """`text` with every character that is not printable as \\x.., \\u.... or \\U........; those in `keep` stay.

    Names, classes and steps come from other organisations' files: an escape sequence in one of them could rewrite what
    stands on the screen, and a line break could forge a line.
    """
    return "".join(char if char.isprintable() or char in keep else _code_of(char) for char in str(text))


def _code_of(char: str) -> str:
    number = ord(char)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
