"""Names chosen by shell patterns, as jobs write them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from fnmatch import fnmatchcase

from hekat.errors import InputError
from hekat.first_few import first_few

# A large network has hundreds of tensors; an error shows at most so many of their names.
_MOST_SHOWN = 40


def select_names(names: Sequence[str], patterns: Sequence[str]) -> tuple[str, ...]:
    """The names that match a shell pattern (`*`, `?`, `[...]`; case counts), in their order; all without patterns.

    Raises InputError for a pattern that matches none of them.
    """
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            close = difflib.get_close_matches(pattern, names, n=1, cutoff=0.4)
            raise InputError(
                f"no parameter matches the pattern {pattern!r}",
                expected=f"a pattern for some of: {_shorten(names)}",
                got="a pattern that matches nothing",
                cure=f"did you mean {close[0]!r}?" if close else "correct the pattern, or remove it",
            )
    return tuple(name for name in names if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns))


def _shorten(names: Sequence[str]) -> str:
    """All names, or the first of very many."""
    return first_few(names, _MOST_SHOWN)
