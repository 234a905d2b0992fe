"""Live progress of a run: bars on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from hekat.printable import printable
from hekat.protocol.role_session import RoleSession

_TITLES = {
    "alone": "each party alone",
    "plain": "federated, nothing encrypted",
    "encrypted": "federated, every update encrypted",
    "cross-validation": "cross-validation, fold by fold",
    "training": "training on the common rows",
}
_KEYS = "keys"
# Without a terminal, a phase that goes on prints a line after at least this many seconds.
_LINE_EVERY_S = 60.0


class RunProgress:
    """Shows phases as they go; also a context manager, so that the terminal is left as it was.

    Without a terminal a phase gets one line at its end, and one each minute before. `verbose` adds a line where it
    begins, after each quarter, and for each finished piece of work; on a terminal the bars of such pieces then stay.
    """

    def __init__(self, console: Console, *, verbose: bool = False) -> None:
        self._console = console
        self._verbose = verbose
        self.folder: Path | None = None
        self._bars: Progress | None = None
        if console.is_terminal:
            self._bars = Progress(
                TextColumn("{task.description:<36}"),
                BarColumn(bar_width=30),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[text]}"),
                console=console,
            )
        self._tasks: dict[str, TaskID] = {}
        self._counts: dict[str, tuple[int, int]] = {}
        self._begun: dict[str, float] = {}
        self._told: dict[str, float] = {}
        # The line that a phase or a piece of work still owes: how far it was when it last moved.
        self._owed: dict[str, str] = {}
        self._reaching = threading.Lock()

    def open_folder(self, folder: Path) -> None:
        """Remember where the run lies, to say so when it is interrupted."""
        self.folder = folder

    def begin(self, phase: str, step_count: int) -> None:
        title = _title_of(phase)
        self._tell_owed()
        self._counts[phase] = (0, step_count)
        self._begun[phase] = self._told[phase] = time.perf_counter()
        if self._bars is not None:
            self._tasks[phase] = self._bars.add_task(title, total=step_count, text="")
        elif self._verbose:
            self._console.print(f"{title} ...", highlight=False)

    def advance(self, phase: str, text: str) -> None:
        done, total = self._counts[phase]
        done += 1
        self._counts[phase] = (done, total)
        if self._bars is not None:
            self._bars.update(self._tasks[phase], completed=done, text=text)
            return
        seconds = time.perf_counter() - self._begun[phase]
        if self._verbose:
            if done == total or done % max(1, total // 4) == 0:
                self._console.print(f"  {done}/{total}  {text}  {seconds:.1f} s", highlight=False)
            return
        self._owed[phase] = f"{_title_of(phase):<36} {done}/{total}  {text}  {seconds:.1f} s"
        if done == total or time.perf_counter() - self._told[phase] >= _LINE_EVERY_S:
            self._tell_owed()
            self._told[phase] = time.perf_counter()

    def reach(self, work: str, done: int, total: int) -> None:
        """Show how far `work` is; without a terminal print a line at its end (`verbose`) or every minute."""
        with self._reaching:
            if self._bars is not None:
                if work not in self._tasks:
                    self._tasks[work] = self._bars.add_task(printable(work), total=total, text="")
                is_shown = self._verbose or done < total
                self._bars.update(self._tasks[work], completed=done, total=total, visible=is_shown)
                return
            now = time.perf_counter()
            begun = self._begun.setdefault(work, now)
            is_new_end = done >= total and work not in self._counts
            if is_new_end:
                self._counts[work] = (done, total)
            if self._verbose and is_new_end:
                self._print(f"  {work}: {total:,}  {now - begun:.1f} s")
            elif not self._verbose and now - self._told.setdefault(work, begun) >= _LINE_EVERY_S:
                self._print(f"{work}: {done:,} of {total:,}  {now - begun:.1f} s")
                self._told[work] = now

    def search_key(self, tried: int, found: int) -> None:
        """Show how the search for a key's two primes goes: on the last bar, or with none on one of its own."""
        text = f"making the key: {found} of 2 primes, {tried} candidates" if found < 2 else ""
        if self._bars is None:
            return
        if not self._tasks:
            self._tasks[_KEYS] = self._bars.add_task("making keys", total=2, text="")
        if _KEYS in self._tasks:
            self._bars.update(self._tasks[_KEYS], completed=found)
        self._bars.update(next(reversed(self._tasks.values())), text=text)

    def note_dropout(self, party: str, step: str, reason: str) -> None:
        """Say that a party is lost, where and why."""
        line = f"{party} is lost in step {step}: {reason}"
        self._console.print(printable(line), style="yellow", highlight=False, markup=False)

    def watch(self, role: str, session: RoleSession) -> None:
        """A terminal shows no figures of roles."""

    def __enter__(self) -> RunProgress:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()
        self._tell_owed()

    def _tell_owed(self) -> None:
        """Print how far each phase is, where it has moved since the last line."""
        for line in self._owed.values():
            self._print(line)
        self._owed.clear()

    def _print(self, line: str) -> None:
        self._console.print(printable(line), highlight=False, markup=False, soft_wrap=True)


def _title_of(phase: str) -> str:
    return _TITLES.get(phase, f"the same, encrypted at {phase}")
