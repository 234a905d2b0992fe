"""`hekat run` of a horizontal job: the cost in a dry run, otherwise training, which parties may drop out of."""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from hekat.cli.option_clashes import refuse_options
from hekat.cli.passphrase import read_passphrase
from hekat.cli.run.cost_tables import cost_tables
from hekat.cli.run.end import going_on, show_run
from hekat.cli.run.live import displayed
from hekat.cli.run.table_notes import show_notes
from hekat.cli.tables import show_tables
from hekat.cost.horizontal import NetworkLink, cost_of_job
from hekat.data.columns.found import most_categories
from hekat.errors import InputError
from hekat.job.load_any_job import check_may_run
from hekat.launch.horizontal.run import run_job
from hekat.live.first_state import count_values
from hekat.protocol.secure_sum.masked.opening.opening_schemes import least_parties
from hekat.report.horizontal.privacy.words import budget_sentence, privacy_table
from hekat.run.horizontal.load_inputs import HorizontalInputs, load_inputs
from hekat.run.horizontal.training_state_file import CHECKPOINT_FILE
from hekat.run.rows.upload_states import check_upload_states
from hekat.summary.horizontal.privacy import describe_budgets, describe_plan

ROWS_PROTOCOLS = ("horizontal", "horizontal_trees")
"""Of jobs whose parties hold rows with the same columns."""


def run_horizontal(options: argparse.Namespace) -> int:
    """Run the job that the options name, or only check it and estimate what a round costs."""
    refuse_options(options, "horizontal", "start_from")
    dropouts = gather_dropouts(options.lose)
    link = link_of(options)
    inputs = load_inputs(
        options.job,
        options.site,
        lambda: read_passphrase(options.passphrase_file, "the leader's"),
        is_rehearsal=options.dry_run,
    )
    console = Console(stderr=options.json)
    if options.dry_run:
        return _show_cost(inputs, link, options)
    if inputs.job.settings.protection == "none":
        console.print("[bold red]Protection is NONE: the aggregator will see every update in the clear.[/]")
    if inputs.job.settings.selective is not None:
        console.print(f"[bold red]{inputs.job.settings.selective.in_words}.[/]")
    shown = {} if options.live is None else facts_to_show(inputs)
    with (
        displayed(options, console, inputs.job, played="in turn", **shown) as progress,
        going_on(progress, options, has_checkpoint),
    ):
        result = run_job(inputs, options.runs, progress, resume_from=options.resume, dropouts=dropouts)
    return show_run(result, console, options)


def count_update_values(inputs: HorizontalInputs) -> int | None:
    """The numbers of one update; None where they are not known: no party is here, or categories are found first."""
    party = next(iter(inputs.tables), None) if inputs.is_settled else None
    return None if party is None else count_values(inputs.make_model(party).model)


def facts_to_show(inputs: HorizontalInputs) -> dict[str, Any]:
    """What `displayed` takes of a job's tables."""
    tests = inputs.test_facts
    return {
        "value_count": count_update_values(inputs),
        "tests_trained_on": tests is not None and tests.is_trained_on,
    }


def has_checkpoint(folder: Path) -> bool:
    """Whether the run in `folder` left a checkpoint."""
    return (folder / CHECKPOINT_FILE).exists()


def link_of(options: argparse.Namespace) -> NetworkLink | None:
    """The network that --bandwidth and --latency describe. Raises InputError for options that do not go together."""
    clashes = ("resume", options.resume), ("lose", options.lose)
    given = [f"--{name}" for name, value in clashes if value]
    if options.dry_run and given:
        raise InputError(
            "--dry-run begins nothing, so it resumes and loses nothing",
            expected="--dry-run without --resume and --lose",
            got=" and ".join(given),
            cure="leave one of them out",
        )
    if not options.dry_run and (options.bandwidth is not None or options.latency is not None):
        raise InputError(
            "a network is only estimated, never slowed down",
            expected="--bandwidth and --latency with --dry-run",
            got="no --dry-run",
            cure="add --dry-run, or leave them out",
        )
    if options.bandwidth is None:
        if options.latency is not None:
            raise InputError("--latency without --bandwidth", expected="both", cure="add --bandwidth MBIT")
        return None
    latency = options.latency or 0.0
    if not (math.isfinite(options.bandwidth) and options.bandwidth > 0 and math.isfinite(latency) and latency >= 0):
        raise InputError(
            "no such network",
            expected="--bandwidth above 0 Mbit/s and --latency of 0 ms or more",
            got=f"{options.bandwidth:g} Mbit/s, {latency:g} ms",
            cure="correct them",
        )
    return NetworkLink(options.bandwidth * 1e6, latency / 1e3)


def _show_cost(inputs: HorizontalInputs, link: NetworkLink | None, options: argparse.Namespace) -> int:
    check_may_run(inputs.site, inputs.job)
    check_upload_states(inputs, None, options.runs, is_rehearsal=True)
    found = cost_of_job(inputs, link)
    privacy = _describe_privacy(inputs)
    if options.json:
        notes = {party: list(table.notes) for party, table in inputs.tables.items()}
        sys.stdout.write(json.dumps(found.to_json() | {"notes": notes, **privacy}, indent=1) + "\n")
        return 0
    console = Console()
    private = privacy_table(privacy)
    show_tables(console, [*cost_tables(found, verbose=options.verbose), *([private] if private else [])])
    if told := budget_sentence(privacy):
        console.print(f"\n{told}", highlight=False, markup=False)
    show_notes(console, inputs.tables)
    if inputs.job.vocabulary:
        console.print(f"\n{_say_categories(inputs)}", highlight=False, markup=False)
    console.print("\nevery check passed; nothing was written or sent", highlight=False)
    return 0


def _describe_privacy(inputs: HorizontalInputs) -> dict[str, Any]:
    """What all rounds of the job would cost, and what rows here have spent so far; {} where sums are exact."""
    plan, settings = inputs.privacy_plan, inputs.job.settings
    if plan is None:
        return {}
    least = least_parties(settings.sums, settings.sample_size)
    budgets = {party: inputs.budget_of(party) for party in inputs.tables}
    spent = {party: budget.spent() for party, budget in budgets.items() if budget is not None}
    described = describe_plan(plan, least, settings.training.round_count)
    return {"privacy": described | {"budgets": describe_budgets(spent, least)}}


def _say_categories(inputs: HorizontalInputs) -> str:
    """What is known before a run of the columns whose categories the parties find in it."""
    counts = ", ".join(f"{column}: {len(texts)}" for column, texts in inputs.job.vocabulary.items())
    most = most_categories(len(inputs.job.vocabulary))
    return (
        f"categories of columns, {counts} by the tables here; all parties together find at most {most}, and these "
        "figures change where tables elsewhere hold others"
    )


def gather_dropouts(pairs: list[tuple[str, int]]) -> dict[str, int]:
    """The rounds in which parties leave, by party. Raises InputError for a party that leaves twice."""
    dropouts = dict(pairs)
    if len(dropouts) < len(pairs):
        raise InputError(
            "a party that drops out twice",
            expected="one --lose for each party",
            got=", ".join(f"{party}:{number}" for party, number in pairs),
            cure="leave one of them out",
        )
    return dropouts
