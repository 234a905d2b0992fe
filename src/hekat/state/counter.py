"""A counter on disk that never gives the same number twice, whatever crashes in between.

A number is used only after the file marks it as gone, so a crash wastes numbers and repeats none. The file is `hekat
counter 1`, the next unused number, and a checksum, one a line. Beside it lies `<name>.lock`, held while the counter is
open. Restoring an older snapshot of the machine restores the file too. No file can notice that, so code that depends on
fresh numbers also mixes in fresh randomness.

A counter that is not `durable` is written in place, and a crash may damage its file: use it only for numbers of keys
that live in this process's memory and so end with it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import threading
from pathlib import Path
from types import TracebackType

from hekat.atomic_file import overwrite_file, replace_file
from hekat.disk_errors import disk_errors_as_state_errors, read_file
from hekat.errors import InputError, StateError

MAX_COUNT = 2**63 - 1
_TITLE = "hekat counter 1"


class Counter:
    """Numbers 0, 1, 2, ... from one file, for one process at a time; made by `create` or `open`. Thread-safe."""

    def __init__(self, path: Path, lock_handle: int, next_value: int, *, durable: bool = True) -> None:
        self._path = path
        self._write = replace_file if durable else overwrite_file
        self._lock_handle: int | None = lock_handle
        self._next = next_value
        self._process_id = os.getpid()
        self._threads = threading.Lock()

    @classmethod
    def create(cls, path: Path, *, durable: bool = True) -> Counter:
        """A new counter at 0. Raises StateError where a file is already there or cannot be written."""
        lock_handle = _take_lock(path)
        try:
            if os.path.lexists(path):
                raise StateError(
                    f"counter {path} is already there",
                    expected="a path where no file is",
                    cure="open it instead; a counter is never set back",
                )
            counter = cls(path, lock_handle, 0, durable=durable)
            counter._write(path, _encode(0))
        except BaseException:
            os.close(lock_handle)
            raise
        return counter

    @classmethod
    def open(cls, path: Path, *, durable: bool = True) -> Counter:
        """The counter at `path`, at the number where it was left. Raises StateError where it is missing, damaged, or
        open elsewhere.

        A missing file is never taken for a counter at 0: that would repeat numbers.
        """
        lock_handle = _take_lock(path)
        try:
            next_value = _decode(read_file(path), path)
        except BaseException:
            os.close(lock_handle)
            raise
        return cls(path, lock_handle, next_value, durable=durable)

    @property
    def next_value(self) -> int:
        """The smallest number that is not used yet; reading it uses nothing. Raises StateError once closed."""
        with self._threads:
            self._check_owner()
            return self._next

    def next(self) -> int:
        """The next number; the file marks it as gone before this returns. Raises StateError."""
        return self.reserve(1)[0]

    def reserve(self, count: int) -> range:
        """The next `count` numbers at the price of one write; the file marks them as gone before this returns."""
        if count < 1:
            raise InputError("nothing to reserve", expected="a count of at least 1", got=str(count))
        with self._threads:
            self._check_owner()
            reserved = range(self._next, self._next + count)
            self._use_up_to(reserved.stop)
            return reserved

    def take(self, number: int) -> None:
        """Use up `number`, which the parties agreed on, and every number below it; the file says so before this
        returns.

        Raises:
            InputError: `number` is below 0.
            StateError: `number` is used already or out of the counter's range, or the file cannot be written.
        """
        if number < 0:
            raise InputError("no number of a counter", expected="0 or above", got=str(number))
        with self._threads:
            self._check_owner()
            if number < self._next:
                raise StateError(
                    f"number {number} of counter {self._path} is used already",
                    expected=f"{self._next} or above",
                    got=str(number),
                    cure="agree on a number that no party has used",
                )
            self._use_up_to(number + 1)

    def _use_up_to(self, end: int) -> None:
        """Use up the numbers below `end`, above the last used one. The lock is held."""
        if end > MAX_COUNT:
            raise StateError(f"counter {self._path} is used up", expected="numbers below 2^63", got="more")
        self._write(self._path, _encode(end))
        self._next = end

    def close(self) -> None:
        """Release the file for another process; numbers reserved and not used are lost."""
        with self._threads:
            if self._lock_handle is not None:
                os.close(self._lock_handle)
                self._lock_handle = None

    def _check_owner(self) -> None:
        if self._lock_handle is None:
            raise StateError(f"counter {self._path} is closed", expected="an open counter", cure="open it again")
        if os.getpid() != self._process_id:
            # A fork inherits the lock and this object's memory, so parent and child would give the same numbers.
            raise StateError(
                f"counter {self._path} belongs to another process",
                expected="use by the process that opened it",
                got="a forked process",
                cure="open the counter in the process that uses it",
            )

    def __enter__(self) -> Counter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _take_lock(path: Path) -> int:
    """An open handle that holds the lock; closing it, or the end of the process, gives the lock back."""
    lock_path = path.with_name(path.name + ".lock")
    with disk_errors_as_state_errors(f"{lock_path} cannot be locked"):
        handle = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise StateError(
                f"counter {path} is open elsewhere",
                expected="one process at a time",
                got="a lock held by another",
                cure="wait until the other run ends, or stop it",
            ) from None
        except BaseException:
            os.close(handle)
            raise
    return handle


def _encode(next_value: int) -> bytes:
    body = f"{_TITLE}\n{next_value}\n"
    return f"{body}{hashlib.sha256(body.encode()).hexdigest()}\n".encode()


def _decode(data: bytes, path: Path) -> int:
    lines = data.split(b"\n")
    value = int(lines[1]) if len(lines) == 4 and lines[1].isdigit() and len(lines[1]) <= 19 else -1
    if value < 0 or value > MAX_COUNT or _encode(value) != data:
        raise StateError(
            f"counter {path} is damaged",
            expected="the file as it was written",
            got=f"{len(data)} bytes that do not hold together",
            cure="do not set it back: begin with a new key and a new counter",
        )
    return value
