"""What all tests share: stored keys, made into key pairs when a test asks for their size; what was skipped, and why."""

from __future__ import annotations

import gc
import json
import logging
import os
import re
import runpy
import signal
import sys
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from hekat.channel import SealedChannel
from hekat.scheme import paillier, rsa

pytest_plugins = [
    "tests.durations",
    "tests.limits.freed_memory",
    "tests.limits.hang_limit",
    "tests.left_out",
    "tests.marks.cases",
    "tests.marks.waits",
    "tests.workers.few_messages",
]

VECTORS = Path(__file__).parent / "vectors"
EXAMPLES = Path(__file__).parents[1] / "examples"
# What a test says that is skipped for want of an extra of pyproject.toml.
NEEDS = re.compile(r"needs hekat\[(\w+)\]")

# A time limit for each example would be an assertion on time: on a busy machine any test misses it now and then.
# `make test-all` takes the second profile (--hypothesis-profile=all), with hypothesis' own number of examples.
settings.register_profile("hekat", deadline=None, max_examples=30)
settings.register_profile("all", deadline=None, max_examples=100)
settings.load_profile("hekat")

# So hints name the command as `hekat`, as in an environment that was activated (hekat.command_name).
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])

# Whoever starts the tests in the background of a shell lets them ignore Ctrl-C, and every process that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Give each of xdist's workers one processor: there the threads of roles that take turns hand over sooner."""
    worker = getattr(config, "workerinput", None)
    if worker is not None and hasattr(os, "sched_setaffinity"):
        processors = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {processors[int(worker["workerid"].removeprefix("gw")) % len(processors)]})


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the collected tests, thousands of objects that stay, out of the garbage collector's runs."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        # pytest hangs its handlers on each logger that passes nothing on to the root, six times a test.
        for name, logger in logging.root.manager.loggerDict.items():
            if name.startswith("torch") and isinstance(logger, logging.Logger):
                logger.propagate = True


FOLDER = pytest.StashKey[Path]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Keep what the tests of another folder left, loaded modules for the most part, out of those runs as well."""
    if item.config.stash.get(FOLDER, None) != item.path.parent:
        item.config.stash[FOLDER] = item.path.parent
        gc.collect()
        gc.freeze()


class StoredKeys:
    """Published test key pairs of 512, 1024 (both unsafe), 2048 and 3072 bits: `keys[2048][0]`, or `keys(2048)`."""

    def __init__(self, file_name: str, make: Callable[[int, int], Any], pair: Callable[[Any, Any], Any]) -> None:
        self._primes = json.loads((VECTORS / file_name).read_text())["keys"]
        self._make, self._pair = make, pair
        self._pairs: dict[int, list[Any]] = {}

    def __getitem__(self, bits: int) -> list[Any]:
        if bits not in self._pairs:
            private = [self._make(int(k["p"], 16), int(k["q"], 16)) for k in self._primes[str(bits)]]
            self._pairs[bits] = [self._pair(key.public, key) for key in private]
        return self._pairs[bits]

    def __call__(self, bits: int, index: int = 0) -> Any:
        return self[bits][index]


@pytest.fixture(scope="session")
def paillier_keys() -> StoredKeys:
    """Stored Paillier key pairs by size in bits; keeps them, and so their tables, for the whole run."""
    return StoredKeys("paillier_keys.json", paillier.PrivateKey, paillier.KeyPair)


@pytest.fixture(scope="session")
def rsa_keys() -> StoredKeys:
    """Stored RSA key pairs by size in bits."""
    return StoredKeys("rsa_keys.json", rsa.PrivateKey, rsa.KeyPair)


@pytest.fixture
def opened_channels(monkeypatch: pytest.MonkeyPatch) -> list[SealedChannel]:
    """The sealed channel of every role whose session opens in the test."""
    opened: list[SealedChannel] = []
    open_session = SealedChannel.open_session

    def note(self: SealedChannel, **options: Any) -> bytes:
        opened.append(self)
        return open_session(self, **options)

    monkeypatch.setattr(SealedChannel, "open_session", note)
    return opened


@pytest.fixture
def run_example(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[str], str]:
    """run_example("arrays.py"): what that file of examples/ prints where it runs as a program, but in this process."""

    def run(name: str) -> str:
        monkeypatch.chdir(EXAMPLES)
        monkeypatch.syspath_prepend(EXAMPLES)
        monkeypatch.setattr(sys, "argv", [name])
        before = set(sys.modules)
        capsys.readouterr()
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        for module in sys.modules.keys() - before:
            if str(getattr(sys.modules[module], "__file__", "")).startswith(str(EXAMPLES)):
                del sys.modules[module]
        return capsys.readouterr().out

    return run


def tell_of_missing_extras(skipped: Iterable[tuple[str, str]]) -> list[str]:
    """Lines on the (test or file, reason) that were skipped for want of an extra: which files, and how to get them."""
    counts: dict[str, dict[str, int]] = {}
    for name, reason in sorted(set(skipped)):
        file, _, test = name.partition("::")
        if found := NEEDS.search(reason):
            of_file = counts.setdefault(found[1], {})
            # A file that is skipped whole says no number of tests.
            of_file[file] = of_file.get(file, 0) + bool(test)
    if not counts:
        return []
    lines = ["NOT TESTED, since extras are not installed:"]
    for extra, files in sorted(counts.items()):
        lines.append(f"  hekat[{extra}]")
        lines += [f"    {file}: {f'{count} skipped' if count else 'whole file'}" for file, count in files.items()]
    wanted = ",".join(sorted(counts))
    lines.append("To test these too: make .venv/.bench (every extra), or these alone:")
    lines.append(f"  .venv/bin/python -m pip install --constraint constraints.txt --editable '.[{wanted}]'")
    return lines


# Outermost, so that it comes after pytest's own summary: the last that is read.
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: Any) -> Generator[None, None, None]:
    """Say at the end what was skipped for want of an extra."""
    yield
    reports = terminalreporter.stats.get("skipped", [])
    skipped = [(report.nodeid, str(report.longrepr[-1])) for report in reports if isinstance(report.longrepr, tuple)]
    for line in tell_of_missing_extras(skipped):
        terminalreporter.write_line(line, yellow=True)
