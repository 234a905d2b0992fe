"""A process for each role, forked from one that has imported Hekat and knows of no run: imports are paid for once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.durations import LASTING_CHILDREN

OUTPUT = "output.json"
# What the command of a role loads once it is called, and what roles load once they play.
LOADED = (
    "hekat.cli.run.role",
    "hekat.engine.cpu",
    "cryptography.hazmat.backends.openssl.backend",
    "numpy.ma",
    "numpy.random",
)


class Fork:
    """The process that others are forked from; it ends with the `with` block."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from tests.launch.forked_roles import serve\nserve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        LASTING_CHILDREN.add(self._process.pid)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        LASTING_CHILDREN.discard(self._process.pid)
        self._process.communicate()

    def ask(self, question: dict[str, Any]) -> Any:
        """What `serve` answers there."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


class RoleProcesses:
    """Starts roles' commands and tells how each ended; what still runs is killed at the end of the `with` block."""

    def __init__(self, fork: Fork) -> None:
        self._fork = fork
        self._pids: dict[str, int] = {}
        self._codes: dict[str, int | None] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for role, code in self.poll().items():
            if code is None:
                os.kill(self._pids[role], signal.SIGKILL)

    def start(self, role: str, folder: Path, words: list[str], prelude: str) -> None:
        """Run `hekat` with these words in that folder, its output in OUTPUT there, after the Python in `prelude`."""
        self._pids[role] = self._fork.ask({"folder": str(folder), "words": words, "prelude": prelude})
        self._codes[role] = None

    def poll(self) -> dict[str, int | None]:
        """The exit code of each role so far, negative where a signal ended it; None while it runs."""
        for role, code in self._codes.items():
            if code is None:
                self._codes[role] = self._fork.ask({"pid": self._pids[role]})
        return dict(self._codes)

    def wait(self) -> dict[str, int]:
        """As `poll`, once all have ended."""
        for role, code in self._codes.items():
            if code is None:
                self._codes[role] = self._fork.ask({"pid": self._pids[role], "wait": True})
        return {role: code for role, code in self._codes.items() if code is not None}


def serve() -> None:
    """Fork a process for each line that names a command, and tell how one ended for each that names its number."""
    from hekat.cli.main import build_parser

    build_parser()
    for name in LOADED:
        import_module(name)
    # As in the tests' own process (tests.left_out): no machine stops, so nothing waits for the disk.
    vars(os)["fsync"] = lambda descriptor: None
    while line := sys.stdin.readline():
        question = json.loads(line)
        if "pid" in question:
            pid, status = os.waitpid(question["pid"], 0 if "wait" in question else os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if pid else None
        else:
            answer = os.fork()
            if answer == 0:
                play(**question)
        print(json.dumps(answer), flush=True)


def play(folder: str, words: list[str], prelude: str) -> None:
    """Run one role's command in this process, to its end."""
    from hekat.cli.main import main

    os.chdir(folder)
    nothing, output = os.open(os.devnull, os.O_RDWR), os.open(OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for descriptor, target in ((nothing, 0), (output, 1), (nothing, 2)):
        os.dup2(descriptor, target)
    sys.argv = ["hekat", *words]
    exec(prelude, {"__name__": "__main__"})
    sys.exit(main())
