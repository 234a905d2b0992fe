"""`hekat site check`: what the site file allows, whether its files are in order, and how a job fits each line."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hekat.cli.exit_codes import ExitCode
from hekat.errors import InputError
from hekat.job.load_any_job import AnyJob, load_any_job
from hekat.job.policy.judge_job import JudgedLine, judge_job, roles_here
from hekat.job.policy.policy_check import APPLIES_NOT
from hekat.job.policy.say_policy import say_policy
from hekat.job.policy.site_files import FileState, check_files
from hekat.job.policy.weak_lines import weak_lines
from hekat.job.site_file import load_site
from hekat.printable import printable

_WIDTH = 100


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "site",
        help="what this site allows, and whether a job fits",
        description="The site file says what jobs may do with the rows of this machine, whoever writes them.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    check = actions.add_parser(
        "check",
        help="what the site allows in words, its files, weak lines, and how a job fits",
        description="Read the site file whole: what it allows in words, whether the files that it names are there and "
        "private, which lines are weak; with a job, whether each line allows what the job asks for. No row is read, "
        "and nothing is written.",
        epilog="Exit code 2 where a file is not in order or a line refuses the job; weak lines alone do not change it.",
    )
    check.add_argument("job", type=Path, nargs="?", help="the job file")
    check.add_argument("--site", type=Path, help="the site file (default: site.toml beside the job, or here)")
    check.add_argument("--party", help="this role of the job alone (default: every one that the site file has)")
    check.add_argument("--json", action="store_true", help="print JSON")
    check.set_defaults(handle=check_site)


def check_site(options: argparse.Namespace) -> int:
    if options.party is not None and options.job is None:
        raise InputError("--party is a role of a job", expected="a job file", got="none", cure="name the job file")
    path = options.site or (Path() if options.job is None else options.job.parent) / "site.toml"
    site = load_site(path)
    job = None if options.job is None else load_any_job(options.job)
    roles = () if job is None else roles_here(site, job, options.party)
    said, files, weak = say_policy(site), check_files(site, path), weak_lines(site)
    judged = [] if job is None else judge_job(site, job, roles)
    is_in_order = not any(file.problem for file in files)
    fits = not any(line.refusal for line in judged)
    if options.json:
        told: dict[str, Any] = {
            "allows": [dataclasses.asdict(line) for line in said],
            "files": [dataclasses.asdict(file) for file in files],
            "weak": weak,
            "in_order": is_in_order,
        }
        if job is not None:
            lines = [{**dataclasses.asdict(line), "fits": not line.refusal} for line in judged]
            told["job"] = {"name": job.name, "digest": job.digest.hex(), "roles": roles, "fits": fits, "lines": lines}
        sys.stdout.write(json.dumps(told, indent=1) + "\n")
    else:
        _say("What this site allows", [(line.line, line.value, line.meaning) for line in said])
        _say_files(files)
        _say("Weak lines", [("warning", text, "") for text in weak] or [("", "none", "")])
        if job is not None:
            _say_job(job, roles, judged)
    return ExitCode.DONE if is_in_order and fits else ExitCode.REFUSED


def _say_files(files: Sequence[FileState]) -> None:
    rows = [(file.line, file.problem or "in order", "") for file in files]
    _say("Files that the site file names", rows)


def _say_job(job: AnyJob, roles: tuple[str, ...], judged: Sequence[JudgedLine]) -> None:
    _say(f"Job {job.name}, for {', '.join(roles)}", [("digest", job.digest.hex(), "")])
    rows = []
    for line in judged:
        verdict = "REFUSED" if line.refusal else "fits"
        value = line.asked
        if line.asked != APPLIES_NOT:
            value = f"{verdict}: asked {line.asked}; allowed {line.allowed}"
        rows.append((line.line, value, f"{line.refusal}; cure: {line.cure}" if line.refusal else ""))
    _say("How it fits", rows)
    refused = sum(1 for line in judged if line.refusal)
    sys.stdout.write(
        f"\n{refused} of {len(judged)} lines refuse the job\n" if refused else "\nevery line allows the job\n"
    )


def _say(title: str, rows: Sequence[tuple[str, str, str]]) -> None:
    """The rows under a title, one below the other: the line and its value, and what it means indented below."""
    sys.stdout.write(f"\n{printable(title)}\n")
    for name, value, meaning in rows:
        head = printable(f"{name}: {value}" if name else value)
        for text, indent in ((head, "  "), (printable(meaning), "      ")):
            lines = textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=f"{indent}    ")
            sys.stdout.write("".join(f"{line}\n" for line in lines))
