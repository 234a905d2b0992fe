"""events.jsonl: what happened in a run, one JSON object a line, handed to the system at once."""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from hekat.atomic_file import write_all
from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import InputError, StateError


class EventLog:
    """Appends events to a file, mode 0600; threads of a run may share it. Never holds data, keys or randomness."""

    def __init__(self, path: Path, *, is_new: bool = True) -> None:
        """Not `is_new`: to the log of a run that has ended. Raises StateError where a new file is already there, an old
        one is not, or the file cannot be opened."""
        making = os.O_CREAT | os.O_EXCL if is_new else 0
        with disk_errors_as_state_errors(f"{path} cannot be {'made' if is_new else 'opened'}"):
            try:
                self._handle: int | None = os.open(path, os.O_WRONLY | making | os.O_APPEND | os.O_CLOEXEC, 0o600)
            except FileExistsError:
                raise StateError(
                    f"{path} is already there and is not overwritten",
                    expected="a new run's folder",
                    cure="begin a new run",
                ) from None
        self._path = path
        self._size = os.fstat(self._handle).st_size
        self._threads = threading.Lock()

    def write(self, event: str, **fields: Any) -> None:
        """Append {"time": UTC, "event": event, **fields}. A float that is not finite is written as null.

        Raises InputError for values that JSON cannot hold; StateError where the disk cannot take the line, and then the
        file holds no part of it.
        """
        if "time" in fields:
            raise InputError("an event sets its own time", expected="other field names", got="time")
        entry = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, **fields}
        try:
            line = json.dumps(_plain(entry), ensure_ascii=False, allow_nan=False).encode() + b"\n"
        except (TypeError, ValueError) as error:
            raise InputError(
                f"event {event} cannot be written", expected="texts, numbers, lists and tables", got=str(error)
            ) from None
        with self._threads, disk_errors_as_state_errors(f"{self._path} could not be written"):
            if self._handle is None:
                raise StateError(f"{self._path} is closed", expected="an open event log")
            try:
                write_all(self._handle, line)
            except BaseException:
                with suppress(OSError):  # the reason to tell is why the line did not fit
                    os.ftruncate(self._handle, self._size)
                raise
            self._size += len(line)

    def close(self) -> None:
        """Make all lines durable and close the file."""
        with self._threads, disk_errors_as_state_errors(f"{self._path} could not be closed"):
            if self._handle is not None:
                handle, self._handle = self._handle, None
                try:
                    os.fsync(handle)
                finally:
                    os.close(handle)

    def __enter__(self) -> EventLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _plain(value: Any) -> Any:
    """`value` with non-finite floats as None and NumPy numbers as Python's, so that any JSON reader takes the line."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
