"""Opens the files that tables are read from, with an answer for each way that fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hekat.errors import InputError


@contextmanager
def readable_file(path: Path, encoding: str = "utf-8") -> Iterator[Path]:
    """`path`, a file with something in it; failures to read it inside the block become InputError too."""
    try:
        if path.is_dir():
            raise InputError(f"{path} is a folder", expected="a data file", cure="give the path of a file in it")
        if path.stat().st_size == 0:
            raise InputError(f"{path} is empty", expected="a data file", got="0 bytes", cure="write the file again")
        yield path
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"{path} is not there",
            expected="a data file",
            cure="check the path in the site file; paths are relative to that file",
        ) from None
    except PermissionError:
        raise InputError(
            f"{path} may not be read", expected="a file this user can read", cure="change its permissions"
        ) from None
    except UnicodeError:
        shown = encoding.upper()
        raise InputError(
            f"{path} is not {shown} text",
            expected=shown,
            got="other bytes",
            cure=f"save the file as {shown}, or, for a CSV file, name its encoding in the site file, for example "
            'encoding = "cp1252"',
        ) from None
    except OSError as error:
        raise InputError(
            f"{path} cannot be read", expected="a readable file", got=error.strerror or type(error).__name__
        ) from error
