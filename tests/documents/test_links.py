"""Every link, path, make target, command and flag that a document names exists."""

from __future__ import annotations

import argparse
import functools
import importlib
import re
from collections.abc import Callable, Collection, Iterator

import pytest
from tests.documents.markdown import LINK, ROOT, TEXTS, anchors, command_lines, spans, without_blocks

from hekat.cli.main import build_parser

REPOSITORY_PATH = re.compile(r"(?:src|tests|native|docs|examples|benchmarks|security|docs_build)/[\w./-]*")
# What a command makes is not in the repository.
MADE_BY_COMMANDS = {"benchmarks/results/"}
# Flags of other programs; CONTRIBUTING.md names those of the test suite.
# Of scripts in this repository, and of Flower's SuperNode.
FOREIGN_FLAGS = {"--quick", "--auth-supernode-private-key", "--node-config", "--trusted-entities"}
OF_CONTRIBUTORS = "CONTRIBUTING.md"
CODE_THAT_NAMES_PAGES = ("src/**/*.py", "tests/**/*.py", "benchmarks/*.py", "examples/**/*.toml", "native/**/*.hpp")
PAGE = re.compile(r"(?<![\w/.])docs/[\w./-]+\.md\b")


def wrong_in(find: Callable[[str], Collection[object]]) -> dict[str, list[object]]:
    """What `find` finds wrong in each document, by its name; documents without are left out."""
    return {name: sorted(found, key=str) for name in TEXTS if (found := find(name))}


def test_relative_links_lead_somewhere() -> None:
    @functools.cache
    def anchors_of(path: str) -> set[str]:
        return anchors((ROOT / path).read_text(encoding="utf-8"))

    def broken(name: str) -> list[str]:
        found = []
        for link in LINK.findall(without_blocks(TEXTS[name])):
            target, _, anchor = link.partition("#")
            path = (ROOT / name).parent / target if target else ROOT / name
            if not path.exists() or (anchor and anchor not in anchors_of(str(path))):
                found.append(link)
        return found

    assert wrong_in(broken) == {}


def test_named_paths_exist() -> None:
    def missing(name: str) -> list[str]:
        named = {span for span in spans(TEXTS[name]) if REPOSITORY_PATH.fullmatch(span)} - MADE_BY_COMMANDS
        return [path for path in named if not (ROOT / path).exists()]

    assert wrong_in(missing) == {}


@pytest.mark.long
def test_pages_that_the_code_names_exist() -> None:
    kept = ROOT / "tests" / "job" / "releases"  # files of older releases name pages of their own
    files = [path for pattern in CODE_THAT_NAMES_PAGES for path in ROOT.glob(pattern) if kept not in path.parents]
    named = {(page, path.name) for path in files for page in PAGE.findall(path.read_text(encoding="utf-8"))}
    assert sorted((page, file) for page, file in named if not (ROOT / page).exists()) == []


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))

    def unknown(name: str) -> set[str]:
        return {
            match[1] for line in command_lines(TEXTS[name]) if (match := re.match(r"make ([a-z-]+)", line))
        } - targets

    assert wrong_in(unknown) == {}


PARSER = build_parser()


def _subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return {name: sub for group in groups for name, sub in group.choices.items()}


def _parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for sub in _subcommands(parser).values():
        yield from _parsers(sub)


def _is_known(words: list[str]) -> bool:
    """Whether the words after `hekat` name commands and flags that its parser has."""
    parser, known_flags = PARSER, {"--version", "--help"}
    for word in words:
        subcommands = _subcommands(parser)
        if word.startswith("--"):
            if word.split("=")[0] not in known_flags:
                return False
        elif subcommands:
            if word not in subcommands:
                return False
            parser = subcommands[word]
            known_flags = set(parser._option_string_actions)
    return True


def test_named_commands_and_flags_exist() -> None:
    def unknown(name: str) -> list[list[str]]:
        lines = [line.partition(" #")[0] for line in command_lines(TEXTS[name])]
        commands = [
            line.removeprefix(".venv/bin/").split()[1:] for line in lines if re.match(r"(\.venv/bin/)?hekat ", line)
        ]
        return [command for command in commands if not _is_known(command)]

    assert wrong_in(unknown) == {}


def test_flags_by_themselves_exist() -> None:
    known = {flag for parser in _parsers(PARSER) for flag in parser._option_string_actions} | FOREIGN_FLAGS

    def unknown(name: str) -> set[str]:
        return {span.split()[0].split("=")[0] for span in spans(TEXTS[name]) if re.match(r"--[a-z]", span)} - known

    assert set(wrong_in(unknown)) <= {OF_CONTRIBUTORS}


@functools.cache
def _is_there(name: str) -> bool:
    """Whether a dotted name leads to a module, or to what stands in one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        return functools.reduce(lambda value, part: getattr(value, part, None), parts[length:], found) is not None
    return False


def test_named_modules_and_functions_exist() -> None:
    def unknown(name: str) -> list[str]:
        found = (re.match(r"hekat(\.\w+)+", span) for span in spans(TEXTS[name]))
        return [match[0] for match in found if match and not _is_there(match[0])]

    assert wrong_in(unknown) == {}
