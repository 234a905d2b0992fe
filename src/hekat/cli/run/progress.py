"""Live progress of a run: bars on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from hekat.cli.printable import printable

_TITLES = {
    "alone": "each party alone",
    "plain": "federated, nothing encrypted",
    "encrypted": "federated, every update encrypted",
    "training": "training on the common rows",
}


_KEYS = "keys"


class RunProgress:
    """Shows phases as they go; also a context manager, so that the terminal is left as it was."""

    def __init__(self, console: Console) -> None:
        self._console = console
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
        self._reaching = threading.Lock()

    def open_folder(self, folder: Path) -> None:
        """Remember where the run lies, for whoever interrupts it."""
        self.folder = folder

    def begin(self, phase: str, step_count: int) -> None:
        title = _TITLES.get(phase, f"the same, encrypted at {phase}")
        self._counts[phase] = (0, step_count)
        self._begun[phase] = time.perf_counter()
        if self._bars is not None:
            self._tasks[phase] = self._bars.add_task(title, total=step_count, text="")
        else:
            self._console.print(f"{title} ...", highlight=False)

    def advance(self, phase: str, text: str) -> None:
        done, total = self._counts[phase]
        done += 1
        self._counts[phase] = (done, total)
        if self._bars is not None:
            self._bars.update(self._tasks[phase], completed=done, text=text)
        elif done == total or done % max(1, total // 4) == 0:
            seconds = time.perf_counter() - self._begun[phase]
            self._console.print(f"  {done}/{total}  {text}  {seconds:.1f} s", highlight=False)

    def reach(self, work: str, done: int, total: int) -> None:
        """Show how far `work` is; without a terminal it is told once, at its end."""
        with self._reaching:
            if self._bars is not None:
                if work not in self._tasks:
                    self._tasks[work] = self._bars.add_task(printable(work), total=total, text="")
                self._bars.update(self._tasks[work], completed=done, total=total)
                return
            begun = self._begun.setdefault(work, time.perf_counter())
            if done >= total and work not in self._counts:
                self._counts[work] = (done, total)
                seconds = time.perf_counter() - begun
                line = f"  {work}: {total:,}  {seconds:.1f} s"
                self._console.print(printable(line), highlight=False, markup=False)

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

    def __enter__(self) -> RunProgress:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()
