"""Names on the command line, with commas between them."""

from __future__ import annotations

import argparse


def names_option(text: str) -> tuple[str, ...]:
    """The names in `text`. Raises ArgumentTypeError where one is empty."""
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise argparse.ArgumentTypeError(f"expected names with commas between them: a,b,c; got {text[:60]!r}")
    return names
