"""A line that says how far a long call is: on a terminal or in a notebook a bar, once the call has taken two seconds.

It goes to stderr, so that what a program prints stays what it prints. In a pipe, a file or a test nothing is shown
unless it is asked for.
"""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

SHOWN_AFTER_S = 2.0
# Without a terminal a line stays, so there are few of them.
_LINE_EVERY_S = 10.0


class ProgressLine:
    """How far `title` is, while its block lasts; whatever ends the block leaves the terminal as it was.

    `shown`: whether to show it at all; None: where stderr is a terminal or this is a notebook. `total` None: nobody
    knows how much there is to do.
    """

    def __init__(self, title: str, total: int | None = None, *, shown: bool | None = None) -> None:
        self._title, self._total = title, total
        self._console = Console(stderr=True, file=sys.stderr)
        self._is_shown = self._console.is_terminal if shown is None else shown
        self._lock = threading.Lock()
        self._bars: Progress | None = None
        self._timer: threading.Timer | None = None
        self._begun = self._told = 0.0
        self._done, self._text = 0, ""

    def say(self, text: str) -> None:
        """What is being done; from any thread."""
        self.reach(self._done, text)

    def reach(self, done: int, text: str = "") -> None:
        """So much of the total is done; from any thread."""
        with self._lock:
            self._done, self._text = done, text
            if self._bars is not None:
                self._bars.update(self._bars.task_ids[0], completed=done, text=text)
            elif self._is_shown and not self._console.is_terminal:
                self._tell()

    def __enter__(self) -> ProgressLine:
        self._begun = self._told = time.perf_counter()
        if self._is_shown and self._console.is_terminal:
            self._timer = threading.Timer(SHOWN_AFTER_S, self._show)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            # A timer that was about to show it finds that it is over.
            self._is_shown = False
            bars, self._bars = self._bars, None
        if bars is not None:
            bars.stop()

    def _show(self) -> None:
        with self._lock:
            if not self._is_shown:
                return
            self._bars = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(bar_width=30),
                TimeElapsedColumn(),
                TextColumn("{task.fields[text]}"),
                console=self._console,
                # What a program prints meanwhile goes above the bar, or into a pipe as it is.
                redirect_stdout=sys.stdout.isatty(),
                transient=True,  # what it showed is of no use once the call is over
            )
            self._bars.add_task(self._title, total=self._total, completed=self._done, text=self._text)
            self._bars.start()

    def _tell(self) -> None:
        now = time.perf_counter()
        if now - self._begun >= SHOWN_AFTER_S and now - self._told >= _LINE_EVERY_S:
            self._told = now
            of_total = "" if self._total is None else f" of {self._total}"
            self._console.print(
                f"{self._title}: {self._done}{of_total}  {self._text}  {now - self._begun:.0f} s",
                highlight=False,
                markup=False,
            )
