"""Names that roles may have: a role's name is also a ledger's and a file's name."""

from __future__ import annotations

from hekat.errors import PolicyError

MAX_NAME_LENGTH = 64
# A name is a file's name too, with an ending; file systems take 255 bytes.
MAX_NAME_BYTES = 100


def check_role_name(name: str) -> None:
    """Raise PolicyError for a name that is too long or has characters with a meaning in paths."""
    is_long = len(name) > MAX_NAME_LENGTH or len(name.encode(errors="replace")) > MAX_NAME_BYTES
    if not name or is_long or name[0] in ".-" or not all(c.isalnum() or c in "._-" for c in name):
        raise PolicyError(
            "a party's name cannot be used",
            expected=f"1 to {MAX_NAME_LENGTH} letters, digits, '.', '_' or '-' ({MAX_NAME_BYTES} bytes at most), "
            "not beginning with '.' or '-'",
            got=repr(name[: MAX_NAME_LENGTH + 1]),
            cure="rename it in the job file and in every site file",
        )
