"""The token that opens the page: made for one run, or read from a file that only its owner reads."""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from pathlib import Path

from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import InputError

TOKEN_BYTES = 32
_LEAST_CHARACTERS = 32
_MOST_BYTES = 512


def make_token() -> str:
    """256 random bits in letters that a URL takes."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def load_token(path: Path) -> str:
    """The token in a file of mode 600 or stricter: one line of at least 32 letters, digits, "-" and "_".

    Raises InputError for another mode or content, StateError where the file cannot be read.
    """
    with disk_errors_as_state_errors(f"{path} cannot be read"), path.open("rb") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        content = file.read(_MOST_BYTES)
    if mode & 0o077:
        raise InputError(
            f"others may read the token in {path}",
            expected="mode 600",
            got=f"mode {mode:o}",
            cure=f"chmod 600 {path}, and put a new token into it",
        )
    text = content.decode("ascii", errors="replace").strip()
    if len(text) < _LEAST_CHARACTERS or not text.replace("-", "").replace("_", "").isalnum() or not text.isascii():
        raise InputError(
            f"{path} holds no token",
            expected=f"one line of at least {_LEAST_CHARACTERS} letters, digits, '-' and '_'",
            got="something else",
            cure="python -c 'import secrets; print(secrets.token_urlsafe(32))' > FILE; chmod 600 FILE",
        )
    return text


def is_token(token: str, shown: str) -> bool:
    """Whether `shown` is the token, in a time that tells nothing of it."""
    return hmac.compare_digest(token.encode(), shown.encode("utf-8", errors="replace"))
