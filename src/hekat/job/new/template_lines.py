"""Lines of a job or site file to edit: a setting at its default is commented out, and changes nothing without the #.

#rounds = 20        # how often ...           a default: the line may be uncommented as it stands
data = "visits"     # each site maps ...      chosen, or required
#alpha = 0.5        # no default; ...         an example: only with the other setting that its comment names
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.toml_text import toml_key, toml_text

NO_DEFAULT = "no default; "
_COMMENT_COLUMN = 40


def toml_value(value: Any) -> str:
    """A text, number, list or table as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return toml_text(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{toml_key(key)} = {toml_value(item)}" for key, item in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    return repr(value)


def chosen(key: str, value: Any, comment: str = "") -> str:
    """A setting that is in force."""
    return _line(f"{toml_key(key)} = {toml_value(value)}", comment)


def default(key: str, value: Any, comment: str) -> str:
    """A setting at its default, commented out."""
    return _line(f"#{toml_key(key)} = {toml_value(value)}", comment)


def example(key: str, value: Any, comment: str) -> str:
    """A setting that has no default, commented out."""
    return _line(f"#{toml_key(key)} = {toml_value(value)}", NO_DEFAULT + comment)


def setting(key: str, value: Any, usual: Any, comment: str) -> str:
    """`default` where the value is the usual one, else `chosen`."""
    return default(key, value, comment) if value == usual else chosen(key, value, comment)


def _line(text: str, comment: str) -> str:
    return f"{text.ljust(_COMMENT_COLUMN)} # {comment}" if comment else text
