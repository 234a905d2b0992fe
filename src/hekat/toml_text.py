"""Texts, keys and names of tables as a TOML file has them: for errors that say what to write, and for files to edit."""

from __future__ import annotations

import json
import re

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(text: str) -> str:
    """A text in quotes. JSON's escapes are TOML's, which asks for one of DEL too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", r"\u007f")


def toml_key(*parts: str) -> str:
    """A key, or the dotted name of a table; parts with dots, blanks or other signs in quotes."""
    return ".".join(part if _BARE_KEY.fullmatch(part) else toml_text(part) for part in parts)
