"""`hekat init`: writes a commented job file and site file to edit, or a whole example that runs at once."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

from hekat.cli.init.guest_job import init_guest_job
from hekat.cli.names_option import names_option
from hekat.cli.option_clashes import refuse_options
from hekat.cli.printable import printable
from hekat.errors import InputError
from hekat.job.new.csv_guess import Guess, guess_from_csv
from hekat.job.new.new_guest_job import GUEST_PROTOCOLS
from hekat.job.new.new_job import DATA_KINDS, MODELS, PROTECTIONS, NewJob
from hekat.job.new.write_files import JOB_FILE
from hekat.job.new.write_job import write_job

EXAMPLE_ROUNDS = 5
MOST_NAMES_SHOWN = 20


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "init",
        help="write a job file and a site file to edit",
        description="Write job.toml and site.toml, every setting with its default, choices and unit. "
        "Nothing is written over. With --example small made tables too, so that hekat run works at once.",
        epilog="Examples: hekat init first --example; hekat init trial --from visits.csv --parties north,east,south; "
        "hekat init credit --protocol vertical_linear --guest bank --hosts insurer --id client --label defaulted",
    )
    parser.add_argument("folder", nargs="?", type=Path, default=Path(), help="where to (default: here)")
    parser.add_argument("--name", help="the job's name (default: the folder's)")
    parser.add_argument(
        "--protocol",
        choices=("horizontal", *GUEST_PROTOCOLS),
        default="horizontal",
        help="horizontal (the default): other rows, same columns; vertical_linear: other columns of the same people; "
        "psi: only which ids are common",
    )
    parser.add_argument("--parties", type=names_option, help="horizontal: who trains, a,b,c")
    parser.add_argument("--aggregator", help="horizontal: who adds updates that it cannot read (default: hub)")
    parser.add_argument("--guest", help="vertical_linear, psi: who has the labels, or compares (default: alpha)")
    parser.add_argument("--hosts", type=names_option, help="vertical_linear, psi: the others, b,c (default: beta)")
    parser.add_argument("--arbiter", help="vertical_linear: who opens masked gradients; none: two parties, shares")
    parser.add_argument(
        "--id", type=names_option, help="vertical_linear, psi: the column or columns that name a person (default: id)"
    )
    parser.add_argument(
        "--model", choices=MODELS, help="default: logistic; linear where labels are numbers; torch: code of yours"
    )
    parser.add_argument("--data", choices=DATA_KINDS, help="what rows lie in (default: csv)")
    parser.add_argument("--protection", choices=PROTECTIONS, help="horizontal (default: lattice)")
    parser.add_argument("--classes", type=names_option, help="what labels can be: no,yes (the default)")
    parser.add_argument("--label", help="the label's column in CSV files (default: label)")
    parser.add_argument(
        "--from", dest="table", type=Path, metavar="CSVFILE", help="take label, classes and columns from this table"
    )
    parser.add_argument("--example", action="store_true", help="write small made tables for every party too")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(handle=run)


def run(options: argparse.Namespace) -> int:
    if options.protocol != "horizontal":
        return init_guest_job(options)
    refuse_options(options, "horizontal", "guest", "hosts", "arbiter", "id", command="hekat init")
    guess = _guess(options)
    job = _choose(options, guess)
    paths = write_job(options.folder, job)
    if options.json:
        told = {"written": [str(path) for path in paths], "job": job.name, "classes": list(job.classes)}
        sys.stdout.write(json.dumps(told, indent=1) + "\n")
        return 0
    for path in paths:
        _print(f"written     {path}")
    if guess is not None:
        _print(f"label       {guess.label}: {', '.join(guess.classes) or 'numbers, so a regression'}")
        _print(f"columns     {_some_of(guess.columns)}")
        _print(f"left out    {_some_of(guess.ignore)}")
        _print_how_to_keep(guess)
    _print(f"next        {_next_step(options.folder / JOB_FILE, job)}")
    return 0


def _guess(options: argparse.Namespace) -> Guess | None:
    if options.table is None:
        return None
    if options.example or options.data not in (None, "csv"):
        raise InputError(
            "--from takes a CSV table as the first party's",
            expected="--from without --example and without another --data than csv",
            got="--example" if options.example else f"--data {options.data}",
            cure="leave out one of them",
        )
    return guess_from_csv(options.table, options.label)


def _choose(options: argparse.Namespace, guess: Guess | None) -> NewJob:
    """The new job, from the options, then from the table's suggestions, then from the defaults."""
    classes = options.classes
    model = options.model
    if guess is not None:
        classes = guess.classes if classes is None and model != "linear" else classes
        model = model or ("logistic" if classes else "linear")
    model = model or "logistic"
    if classes is None:
        classes = () if model == "linear" else ("no", "yes")
    job = NewJob(
        name=options.name or options.folder.resolve().name or "first-job",
        parties=options.parties or ("alpha", "beta", "gamma"),
        aggregator=options.aggregator or "hub",
        model=model,
        data_kind=options.data or "csv",
        protection=options.protection or "lattice",
        classes=classes,
        label=guess.label if guess is not None else options.label or "label",
        is_example=options.example,
    )
    if options.example:
        return replace(job, rounds=EXAMPLE_ROUNDS, weight_max=1000)
    if guess is not None:
        path = os.path.relpath(options.table.resolve(), options.folder.resolve())
        return replace(job, ignore=guess.ignore, first_path=path)
    return job


def _print_how_to_keep(guess: Guess) -> None:
    """How columns that were left out can be trained on: what all parties have to agree on stands in the job."""
    if guess.texts:
        _print(f"  of texts  {_some_of(guess.texts)}: to train on one, [columns.NAME] categories = [...] in job.toml")
    if guess.gaps:
        _print(f"  with gaps {_some_of(guess.gaps)}: to train on one, [columns.NAME] fill = NUMBER in job.toml")
    if guess.texts or guess.gaps:
        _print("            then take its name off ignore in site.toml: docs/how_to/data_sources.md")


def _some_of(names: tuple[str, ...]) -> str:
    if len(names) <= MOST_NAMES_SHOWN:
        return ", ".join(names) or "none"
    return f"{', '.join(names[:MOST_NAMES_SHOWN])}, ... ({len(names)} in all)"


def _next_step(path: Path, job: NewJob) -> str:
    if job.is_example:
        return f"hekat run {path}"
    return f"say in site.toml where rows lie, then: hekat run {path} --dry-run"


def _print(line: str) -> None:
    sys.stdout.write(printable(line) + "\n")
