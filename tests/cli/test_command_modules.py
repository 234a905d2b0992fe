"""A call loads the module of its own command and what all commands need: nothing else's start-up costs anybody time."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from hekat.cli.main import _COMMANDS, build_parser

LOADED = """
import json, sys
from hekat.cli.main import _COMMANDS, build_parser
build_parser(sys.argv[1])
commands = [name for name, module in _COMMANDS.items() if module in sys.modules]
# What some commands need, and then load; SciPy's special functions alone would be a third of a start-up.
print(json.dumps(commands + [name for name in ("scipy", "sklearn", "pandas", "matplotlib") if name in sys.modules]))
"""


def names_of(command: str | None) -> list[str]:
    (subparsers,) = [action for action in build_parser(command)._actions if action.dest == "command"]
    return list(subparsers.choices or ())


@pytest.mark.parametrize("command", _COMMANDS)
def test_each_command_is_the_one_that_its_module_adds(command: str) -> None:
    assert names_of(command) == [command]


@pytest.mark.parametrize("word", [None, "--help", "rum"])
def test_without_a_command_all_are_shown(word: str | None) -> None:
    assert names_of(word) == list(_COMMANDS)


@pytest.mark.long
@pytest.mark.parametrize("command", ["keys", "job", "run"])
def test_a_call_loads_no_other_commands_module_and_no_library_for_few(command: str) -> None:
    done = subprocess.run([sys.executable, "-c", LOADED, command], check=True, capture_output=True, text=True)
    assert json.loads(done.stdout) == [command]


UNUSED = """
import json, sys
from hekat.cli.main import build_parser
build_parser(sys.argv[1])
known = ("hekat.report", "hekat.scheme.bfv", "hekat.scheme.bin_sums", "hekat.scheme.ckks", "hekat.scheme.rsa",
    "hekat.protocol.horizontal.training.loop", "hekat.cli.run.end")
print(json.dumps([name for name in known if name in sys.modules]))
"""


def test_a_call_that_shows_a_job_loads_no_reports_and_no_schemes_of_messages() -> None:
    done = subprocess.run([sys.executable, "-c", UNUSED, "job"], check=True, capture_output=True, text=True)
    assert json.loads(done.stdout) == []
