"""`hekat init`: writes a commented job file and site file to edit, or a whole example that runs at once."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from hekat.cli.init.encrypted_model import init_encrypted_model_job
from hekat.cli.init.guest_job import init_guest_job
from hekat.cli.init.horizontal_from import AGGREGATOR, DEFAULT_PARTIES, check_two_parties, new_from_tables
from hekat.cli.init.say_plan import say_plan
from hekat.cli.names_option import names_option
from hekat.cli.option_clashes import refuse_options
from hekat.command_name import as_called
from hekat.errors import InputError
from hekat.job.job_head import FOUND
from hekat.job.new.encrypted_model.new_job import ENCRYPTED_MODEL
from hekat.job.new.new_guest_job import GUEST_PROTOCOLS
from hekat.job.new.new_job import DATA_KINDS, MODELS, PROTECTIONS, ROW_PROTOCOLS, NewJob
from hekat.job.new.write_files import JOB_FILE
from hekat.job.new.write_job import write_job
from hekat.printable import printable

EXAMPLE_ROUNDS = 5
EXAMPLE_ITERATIONS = 20


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "init",
        help="write a job file and a site file to edit",
        description="Write job.toml and site.toml, every setting with its default, choices and unit. "
        "Nothing is written over. With --example small made tables too, so that hekat run works at once.",
        epilog="Examples: hekat init first --example; hekat init trial --from north.csv east.csv south.csv; "
        "hekat init credit --protocol vertical_linear --guest bank --hosts insurer --id client --label defaulted",
    )
    parser.add_argument("folder", nargs="?", type=Path, default=Path(), help="where to (default: here)")
    parser.add_argument("--name", help="the job's name (default: the folder's)")
    parser.add_argument(
        "--protocol",
        choices=(*ROW_PROTOCOLS, ENCRYPTED_MODEL, *GUEST_PROTOCOLS),
        default="horizontal",
        help="horizontal (the default): other rows, same columns; horizontal_trees: the same, boosted trees; "
        "encrypted_model: the same, a model that its hosts cannot read; "
        "vertical_linear: other columns of the same people, a regression; vertical_trees: the same, boosted trees; "
        "vertical_network: the same, a split network; "
        "psi: only which ids are common",
    )
    parser.add_argument("--parties", type=names_option, help="horizontal, horizontal_trees: who trains, a,b,c")
    parser.add_argument(
        "--aggregator",
        help="horizontal, horizontal_trees, encrypted_model: who adds updates that it cannot read (default: hub)",
    )
    parser.add_argument("--guest", help="vertical_*, psi: who has the labels, or compares (default: alpha)")
    parser.add_argument(
        "--hosts",
        type=names_option,
        help="vertical_*, psi: the others, b,c (default: beta); encrypted_model: who trains (default: alpha,beta)",
    )
    parser.add_argument(
        "--arbiter",
        help="vertical_linear: who opens masked gradients (default: nobody, weights in shares); encrypted_model: who "
        "holds the key (default: arbiter)",
    )
    parser.add_argument("--owner", help="encrypted_model: who alone gets the model (default: owner)")
    parser.add_argument(
        "--id",
        type=names_option,
        help="vertical_*, psi: the column or columns that name a person (default: id)",
    )
    parser.add_argument(
        "--model",
        choices=MODELS,
        help="horizontal, vertical_linear, encrypted_model (default: logistic; linear where labels are numbers); "
        "torch: code of yours",
    )
    parser.add_argument("--data", choices=DATA_KINDS, help="what rows lie in (default: csv)")
    parser.add_argument(
        "--protection", choices=PROTECTIONS, help="of horizontal*, encrypted_model, vertical_trees (default: lattice)"
    )
    parser.add_argument("--classes", type=names_option, help="what labels can be: no,yes (the default)")
    parser.add_argument("--label", help="the label's column in CSV files (default: label)")
    parser.add_argument(
        "--from",
        dest="tables",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="read these tables, one for each party in their order, and take label, classes, columns and vocabularies "
        "from them; of one alone, the first party's. CSV, Parquet, Excel or SQLite files, or, with --data sql, "
        "environment variables that hold URLs of databases",
    )
    parser.add_argument("--table", metavar="NAME", help="with --from: the table of databases, the sheet of Excel files")
    parser.add_argument(
        "--split", action="store_true", help="with one file: deal its rows out to all parties, to try a job on them"
    )
    parser.add_argument(
        "--allow-two-parties",
        action="store_true",
        help="horizontal, horizontal_trees, encrypted_model: two parties accept what each learns of the other",
    )
    parser.add_argument(
        "--accept-bin-leak",
        action="store_true",
        default=None,
        help="vertical_trees: sums may tell the guest bins of hosts, which most jobs need; the job says so, and the "
        "site file allows it",
    )
    parser.add_argument(
        "--fear-for",
        choices=("labels", "columns"),
        help="vertical_network: what others must not learn; labels: any number of hosts, the guest learns of columns; "
        "columns: one host, and all stays in shares",
    )
    parser.add_argument("--example", action="store_true", help="write small made tables for every party too")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(handle=run)


def run(options: argparse.Namespace) -> int:
    if options.protocol == ENCRYPTED_MODEL:
        return init_encrypted_model_job(options)
    refuse_options(options, options.protocol, "owner", command="hekat init")
    if options.protocol in GUEST_PROTOCOLS:
        return init_guest_job(options)
    others = ("guest", "hosts", "arbiter", "id", "accept_bin_leak", "fear_for")
    refuse_options(options, options.protocol, *others, command="hekat init")
    if options.protocol == "horizontal_trees":
        refuse_options(options, options.protocol, "model", command="hekat init")
    _check_options(options)
    if options.parties is not None:
        check_two_parties(options.parties, is_allowed=options.allow_two_parties)
    made = None if options.tables is None else new_from_tables(options)
    job = _choose(options) if made is None else made.job
    paths = write_job(options.folder, job, {} if made is None else made.files)
    if options.json:
        told: dict[str, Any] = {"written": [str(path) for path in paths], "job": job.name}
        told["classes"] = list(job.classes)
        if made is not None:
            told |= {"label": made.plan.label.name, "columns": made.plan.describe()}
        sys.stdout.write(json.dumps(told, indent=1) + "\n")
        return 0
    for path in paths:
        _print(f"written     {path}")
    found = [name for name, said in job.columns.items() if said.get("categories") == FOUND]
    for line in () if made is None else say_plan(made.plan, found=found, listed=made.listed, fills=not job.is_trees):
        _print(line)
    _print(f"next        {_next_step(options.folder / JOB_FILE, job)}")
    return 0


def _check_options(options: argparse.Namespace) -> None:
    """Raise InputError for options that do not go together."""
    if options.split and options.tables is None:
        raise InputError(
            "--split deals the rows of a table out",
            expected="--from FILE beside it",
            got="--split alone",
            cure="add --from FILE, or leave out --split",
        )
    if options.tables is not None and options.example:
        raise InputError(
            "--from takes tables of yours",
            expected="--from without --example",
            got="--example",
            cure="leave out one of them",
        )
    if options.table is not None and options.tables is None:
        raise InputError(
            "--table is of a database or an Excel file", expected="--from beside it", got="--table alone",
            cure="add --from FILE, or leave out --table",
        )  # fmt: skip


def _choose(options: argparse.Namespace) -> NewJob:
    """The new job, from the options, then from the defaults."""
    model = options.model or "logistic"
    classes = options.classes
    if classes is None:
        classes = () if model == "linear" else ("no", "yes")
    job = NewJob(
        protocol=options.protocol,
        name=options.name or options.folder.resolve().name or "first-job",
        parties=options.parties or DEFAULT_PARTIES,
        aggregator=options.aggregator or AGGREGATOR,
        model=model,
        data_kind=options.data or "csv",
        protection=options.protection or "lattice",
        classes=classes,
        label=options.label or "label",
        is_example=options.example,
        allow_two_parties=options.allow_two_parties,
    )
    rounds = EXAMPLE_ITERATIONS if job.is_trees else EXAMPLE_ROUNDS
    return replace(job, rounds=rounds, weight_max=1000) if options.example else job


def _next_step(path: Path, job: NewJob) -> str:
    if job.is_example or (job.sources.keys() >= set(job.parties)):
        return f"hekat run {path}"
    return f"say in site.toml where rows lie, then: hekat run {path} --dry-run"


def _print(line: str) -> None:
    sys.stdout.write(as_called(printable(line)) + "\n")
