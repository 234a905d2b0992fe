"""The documents keep their word: examples run, links and paths exist, commands and tables are those of the code."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hekat.cli.main import build_parser
from hekat.engine.interface import Engine
from hekat.own_loop import messages as loop_messages
from hekat.protocol.horizontal import messages
from hekat.protocol.psi import messages as psi_messages
from hekat.protocol.secure_sum import messages as sum_messages
from hekat.protocol.secure_sum.masked import messages as masked_messages
from hekat.protocol.secure_sum.masked.opening.committee import equivocation_bound, form_committee
from hekat.protocol.secure_sum.paillier import messages as paillier_messages
from hekat.protocol.secure_sum.plain import messages as plain_messages
from hekat.protocol.vertical_linear.arbiter import messages as arbiter_messages
from hekat.protocol.vertical_linear.prediction import messages as prediction_messages
from hekat.protocol.vertical_linear.shared_weights import messages as shared_weights_messages
from hekat.run.horizontal.load_inputs import load_inputs
from hekat.wire import disclosure_of, kind_name

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted(
    path
    for pattern in ("*.md", "docs/*.md", "docs/spec/*.md", "docs/decisions/*.md", "src/hekat/protocol/**/*.md")
    for path in ROOT.glob(pattern)
    if not path.name.startswith(".")
)
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in DOCUMENTS}
README, SECURITY, ARCHITECTURE = TEXTS["README.md"], TEXTS["SECURITY.md"], TEXTS["docs/architecture.md"]
EVERY_DOCUMENT = pytest.mark.parametrize("name", TEXTS)

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
REPOSITORY_PATH = re.compile(r"(?:src|tests|native|docs|examples|benchmarks)/[\w./-]*")
# What a command makes is not in the repository.
MADE_BY_COMMANDS = {"benchmarks/results/"}


def _blocks(text: str, language: str) -> list[str]:
    return [body for found, body in FENCE.findall(text) if found == language]


def _spans(text: str) -> list[str]:
    """What stands in backticks outside of blocks."""
    return CODE.findall(FENCE.sub("", text))


def _anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_documents_are_there() -> None:
    expected = {
        *("README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"),
        *("docs/architecture.md", "docs/security.md", "docs/spec/committee.md", "docs/spec/security-estimate.md"),
    }
    assert expected <= set(TEXTS)
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")


# --- examples ----------------------------------------------------------------------------------------------


def test_the_examples_are_the_files_that_run() -> None:
    # Their output is checked in tests/encrypted_array/test_arrays_example.py and
    # tests/scheme/rsa/test_blind_signatures_example.py.
    files = [ROOT / "examples" / name for name in ("arrays.py", "blind_signatures.py")]
    whole = [block for block in _blocks(README, "python") if block.startswith('"""')]
    assert whole == [file.read_text(encoding="utf-8") for file in files]


def test_the_job_of_the_readme_passes_every_check(tmp_path: Path) -> None:
    job, site = _blocks(README, "toml")
    (tmp_path / "job.toml").write_text(job, encoding="utf-8")
    (tmp_path / "site.toml").write_text(site, encoding="utf-8")
    rng = np.random.default_rng(1)
    for name in ("alpha", "beta", "gamma", "test"):
        rows = [f"{name}-{i},{rng.normal():.3f},{('well', 'ill')[i % 2]}" for i in range(6)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["patient_id,age,outcome", *rows]) + "\n", encoding="utf-8")
    inputs = load_inputs(tmp_path / "job.toml")
    assert {name: len(table) for name, table in inputs.tables.items()} == {"alpha": 6, "beta": 6, "gamma": 6}
    assert inputs.tables["alpha"].feature_names == ("age",)
    assert inputs.test_table is not None


# --- links, paths, targets -----------------------------------------------------------------------------------


@EVERY_DOCUMENT
def test_relative_links_lead_somewhere(name: str) -> None:
    document = ROOT / name
    broken = []
    for link in LINK.findall(FENCE.sub("", TEXTS[name])):
        target, _, anchor = link.partition("#")
        path = document if not target else document.parent / target
        if not path.exists() or (anchor and anchor not in _anchors(path.read_text(encoding="utf-8"))):
            broken.append(link)
    assert broken == []


@EVERY_DOCUMENT
def test_named_paths_exist(name: str) -> None:
    named = {span for span in _spans(TEXTS[name]) if REPOSITORY_PATH.fullmatch(span)} - MADE_BY_COMMANDS
    assert sorted(path for path in named if not (ROOT / path).exists()) == []


@EVERY_DOCUMENT
def test_make_targets_exist(name: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    commands = [*_spans(TEXTS[name]), *"\n".join(_blocks(TEXTS[name], "sh")).splitlines()]
    named = {match[1] for command in commands if (match := re.match(r"make ([a-z-]+)", command))}
    assert named - targets == set()


def test_the_demo_takes_the_losses_of_the_readme() -> None:
    assert 'LOSE="county:5 riverside:9"' in README
    made = subprocess.run(
        ["make", "-n", "--no-print-directory", "demo", "LOSE=county:5 riverside:9"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    command = made.stdout.strip().splitlines()[-1].split()
    assert command[1:] == ["run", "examples/hospitals/job.toml", "--lose", "county:5", "--lose", "riverside:9"]


# --- commands ------------------------------------------------------------------------------------------------


def _subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return {name: sub for group in groups for name, sub in group.choices.items()}


def _parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for sub in _subcommands(parser).values():
        yield from _parsers(sub)


def _is_known(words: list[str]) -> bool:
    """Whether the words after `hekat` name commands and flags that its parser has."""
    parser, known_flags = build_parser(), {"--version", "--help"}
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


@EVERY_DOCUMENT
def test_named_commands_and_flags_exist(name: str) -> None:
    lines = [*_spans(TEXTS[name]), *"\n".join(_blocks(TEXTS[name], "sh")).splitlines()]
    commands = [
        line.removeprefix(".venv/bin/").split()[1:] for line in lines if re.match(r"(\.venv/bin/)?hekat ", line)
    ]
    assert [command for command in commands if not _is_known(command)] == []


def test_every_command_is_in_the_readme_with_its_flags() -> None:
    rows = {row.split("|")[1]: row for row in README.splitlines() if row.startswith("| `hekat ")}
    for name, parser in _subcommands(build_parser()).items():
        for leaf_name, leaf in (_subcommands(parser) or {"": parser}).items():
            found = "".join(row for cell, row in rows.items() if f"`hekat {name} {leaf_name}".rstrip() in cell)
            flags = {flag for flag in leaf._option_string_actions if flag.startswith("--")} - {"--help", "--json"}
            assert found, f"hekat {name} {leaf_name} is not in the table of commands"
            assert {flag for flag in flags if f"`{flag}`" not in found} == set(), f"flags of hekat {name} {leaf_name}"


def test_flags_in_the_readme_exist() -> None:
    known = {flag for parser in _parsers(build_parser()) for flag in parser._option_string_actions}
    assert {span for span in _spans(README) if span.startswith("--")} - known == set()


# --- tables that follow the code ---------------------------------------------------------------------------------


def _table_rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("|---")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def _message_types() -> list[type]:
    modules = (
        messages,
        sum_messages,
        masked_messages,
        paillier_messages,
        plain_messages,
        loop_messages,
        psi_messages,
        arbiter_messages,
        shared_weights_messages,
        prediction_messages,
    )
    members = [member for module in modules for member in inspect.getmembers(module)]
    return [value for _, value in members if dataclasses.is_dataclass(value) and isinstance(value, type)]


def test_the_disclosure_table_is_that_of_the_messages() -> None:
    section = SECURITY.split("## What each role learns")[1].split("What the parties find")[0]
    stated: dict[tuple[str, str], tuple[str, str]] = {}
    kind = ""
    for message, _, field, disclosure_class, tells in _table_rows(section)[1:]:
        kind = message.strip("`") or kind
        stated[kind, field.strip("`")] = (disclosure_class, tells)
    declared = {
        (kind_name(message), field): disclosure
        for message in _message_types()
        for field, disclosure in disclosure_of(message).items()
    }
    assert set(stated) == set(declared)
    assert {key: disclosure.kind for key, disclosure in declared.items()} == {k: v[0] for k, v in stated.items()}
    for key, disclosure in declared.items():
        if disclosure.kind in ("disclosed", "sealed"):
            assert stated[key][1] == disclosure.detail


@pytest.mark.parametrize(
    ("name", "heading", "columns"),
    [
        ("docs/security.md", "## How many may work together", (0, 1, 2, 3, 4, 5, 6)),
        ("docs/spec/committee.md", "## Sizes", (0, 1, 2, 3, 6, 4, 7)),
    ],
)
def test_the_sizes_of_committees_are_those_of_the_code(name: str, heading: str, columns: tuple[int, ...]) -> None:
    """Parties, members, threshold, spare members, least included, dishonest members and parties that are borne."""
    rows = _table_rows(TEXTS[name].split(heading)[1].split("\n## ")[0])[1:]
    assert len(rows) >= 7
    for row in rows:
        stated = [0 if row[column].strip("*") == "none" else int(row[column].strip("*")) for column in columns]
        count = stated[0]
        made = form_committee(
            names := [f"p{number}" for number in range(count)], names[:7], allow_two_parties=count == 2
        )
        members = len(made.members)
        borne = equivocation_bound(members, made.threshold)
        spare = members - made.threshold
        assert stated == [count, members, made.threshold, spare, made.least_included, borne, made.least_included - 2]


def test_the_engine_table_names_every_operation() -> None:
    section = ARCHITECTURE.split("## Engines")[1].split("\n## ")[0]
    named = {operation for row in _table_rows(section)[1:] for operation in CODE.findall(row[0])}
    operations = {name for name, _ in inspect.getmembers(Engine, inspect.isfunction) if not name.startswith("_")}
    assert named == operations


def test_the_layer_picture_is_the_contract() -> None:
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = [c["layers"] for c in contract["tool"]["importlinter"]["contracts"] if c["type"] == "layers"]
    expected = [[part.strip().removeprefix("hekat.") for part in layer.split("|")] for layer in layers]
    picture = _blocks(ARCHITECTURE.split("## Layers")[1], "")[0]
    # What a layer is for stands behind three spaces or more.
    names = [re.split(r" {3,}", line)[0] for line in picture.splitlines()]
    drawn = [[part.strip().split("/")[0] for part in name.split("|")] for name in names]
    assert drawn == expected
