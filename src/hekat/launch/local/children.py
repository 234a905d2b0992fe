"""The processes of a run's roles: started together, watched until they end, and their last words read."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import DIVERGED_EXIT_CODE, HekatError

_LOOK_EVERY_S = 0.1
_END_WITHIN_S = 10.0
_PARTS = ("error", "expected", "got", "cure")


@dataclass
class Children:
    """One process for each role, by its command; what each prints lies in `folder`."""

    commands: Mapping[str, Sequence[str]]
    folder: Path
    _running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _is_over: Event = field(default_factory=Event)

    def start(self, on_failed: Callable[[str], None], *, inherited: int | None = None) -> None:
        """Start all; `on_failed` is called, in another thread, with each role whose process ends by a failure.

        Every process has the descriptor `inherited` open until its end.
        """
        for role, command in self.commands.items():
            with (
                disk_errors_as_state_errors(f"the process of {role} could not be started"),
                self._words_of(role).open("wb") as words,
            ):
                self._running[role] = subprocess.Popen(  # noqa: S603
                    # -P: of modules in the current folder, which may come with a job, a process with keys runs none.
                    [sys.executable, "-P", "-m", "hekat.cli.main", *command],
                    stdin=subprocess.DEVNULL,
                    stdout=words,
                    stderr=subprocess.DEVNULL,
                    pass_fds=() if inherited is None else (inherited,),
                )
        Thread(target=self._watch, args=(on_failed,), name="hekat-children", daemon=True).start()

    def end(self) -> None:
        """Let every process come to its end, and kill those that do not within ten seconds."""
        self._is_over.set()
        deadline = time.monotonic() + _END_WITHIN_S
        for process in self._running.values():
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def kill(self) -> None:
        """End every process at once."""
        self._is_over.set()
        for process in self._running.values():
            process.kill()
        for process in self._running.values():
            process.wait()

    def reason_of(self, role: str) -> HekatError | None:
        """What the role's process said when it failed; None where it said nothing that can be read."""
        try:
            told = json.loads(self._words_of(role).read_bytes())
            texts = {name: str(told.get(name, "")) for name in _PARTS}
            because = told.get("because")
        except (OSError, ValueError, RecursionError, AttributeError):
            return None
        if "error" not in told:
            return None
        what = texts["error"] if because is None else str(because)
        return HekatError(what, expected=texts["expected"], got=texts["got"], cure=texts["cure"])

    def _words_of(self, role: str) -> Path:
        return self.folder / f"{list(self.commands).index(role)}.json"

    def _watch(self, on_failed: Callable[[str], None]) -> None:
        told: set[str] = set()
        while not self._is_over.is_set() and len(told) < len(self._running):
            for role, process in self._running.items():
                code = process.poll()
                if code is not None and role not in told:
                    told.add(role)
                    if code not in (0, DIVERGED_EXIT_CODE):
                        on_failed(role)
            self._is_over.wait(_LOOK_EVERY_S)
