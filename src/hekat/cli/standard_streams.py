"""Standard output and error that end no command: readers may leave, disks may be full, encodings may be poor.

A run goes on for hours behind `hekat run | head`, or with its output in a file on a disk that fills up. What cannot be
written is dropped, and the command goes on; `Outlet.failure` keeps why, for the command's end.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from typing_extensions import Buffer

_DEGRADE = "hekat.degrade"
_PLAIN = {
    **dict.fromkeys("–—−━─", "-"),
    **{"…": "...", "×": "x", "÷": "/", "±": "+-", "→": "->", "←": "<-", "★": "*", "°": " deg ", "µ": "u"},
}
_SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_RAISED = re.compile("[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+")


class Outlet(io.RawIOBase):
    """A descriptor that is written to until nothing more can be; after that everything is dropped.

    `failure` is the reason, None as long as all is written and where the reader has left (EPIPE): then there is nobody
    to tell.
    """

    def __init__(self, handle: int) -> None:
        super().__init__()
        self.failure: OSError | None = None
        self._handle, self._drops = handle, False

    def fileno(self) -> int:
        return self._handle

    def isatty(self) -> bool:
        return os.isatty(self._handle)

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer) -> int | None:
        if not self._drops:
            try:
                return os.write(self._handle, data)
            except BlockingIOError:
                return None
            except BrokenPipeError:
                self._drops = True
            except OSError as error:
                self.failure, self._drops = error, True
        return memoryview(data).nbytes


@dataclass(frozen=True)
class Streams:
    """The outlets behind sys.stdout and sys.stderr."""

    out: Outlet
    err: Outlet

    def finish(self) -> OSError | None:
        """Write what is left; the reason why not all of the output could be written, if there is one."""
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        return self.out.failure


def guard_streams() -> Streams:
    """Put outlets behind sys.stdout and sys.stderr; characters that their encoding lacks get a plain form."""
    codecs.register_error(_DEGRADE, degrade)
    sys.stdout, out = _guarded(sys.stdout)
    sys.stderr, err = _guarded(sys.stderr, line_buffering=True)
    return Streams(out, err)


def degrade(error: UnicodeError) -> tuple[str, int]:
    """What stands for characters that an encoding lacks: "x" for "×", "^-6" for a raised -6, "\\xe9" for others."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = _RAISED.sub(
        lambda found: f"^{found.group().translate(_SUPERSCRIPTS)}", error.object[error.start : error.end]
    )
    text = "".join(_PLAIN.get(char, char) for char in lacking)
    return text.encode("ascii", "backslashreplace").decode("ascii"), error.end


def _guarded(stream: TextIO | None, *, line_buffering: bool = False) -> tuple[TextIO, Outlet]:
    if stream is None:  # the descriptor was closed when the command began
        outlet, encoding = Outlet(os.open(os.devnull, os.O_WRONLY)), "utf-8"
    else:
        outlet, encoding = Outlet(stream.fileno()), stream.encoding
    text = io.TextIOWrapper(
        io.BufferedWriter(outlet),
        encoding,
        _DEGRADE,
        line_buffering=line_buffering or outlet.isatty(),
        write_through=bool(getattr(stream, "write_through", False)),
    )
    return text, outlet
