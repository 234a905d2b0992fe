"""`hekat run` of a training on an encrypted model: only its checks in a dry run, otherwise training."""

from __future__ import annotations

import argparse
import json
import sys

from rich.console import Console

from hekat.cli.option_clashes import refuse_options
from hekat.cli.passphrase import read_passphrase
from hekat.cli.run.cost_tables import steps_cost_table
from hekat.cli.run.end import going_on, show_run
from hekat.cli.run.live import displayed
from hekat.cli.run.table_notes import show_notes
from hekat.cli.tables import show_tables
from hekat.cost.encrypted_model import cost_of_encrypted_model_job
from hekat.errors import InputError
from hekat.job.load_any_job import check_may_run
from hekat.launch.encrypted_model.run import run_encrypted_model_job
from hekat.protocol.encrypted_model.capacity import plan_round
from hekat.report import Table
from hekat.run.encrypted_model.load_inputs import EncryptedModelInputs, load_encrypted_model_inputs
from hekat.run.vertical.checkpoint_files import has_checkpoints

ALARM = "Protection is NONE: hosts will read the model of every round, and the aggregator each host's part of it."


def run_encrypted_model(options: argparse.Namespace) -> int:
    """Run the job that the options name, or only check it."""
    refuse_options(options, "encrypted_model", "start_from", "lose", "bandwidth", "latency")
    if options.dry_run and options.resume is not None:
        raise InputError(
            "--dry-run begins nothing, so it resumes nothing",
            expected="--dry-run without --resume",
            got="--resume",
            cure="leave one of them out",
        )
    inputs = load_encrypted_model_inputs(
        options.job,
        options.site,
        lambda: read_passphrase(options.passphrase_file, "the arbiter's"),
        is_rehearsal=options.dry_run,
    )
    console = Console(stderr=options.json)
    if options.dry_run:
        return _show_checked(inputs, options)
    if inputs.job.settings.protection == "none":
        console.print(f"[bold red]{ALARM}[/]")
    tests = inputs.describe_measured()
    with (
        displayed(
            options,
            console,
            inputs.job,
            played="in turn",
            tests_trained_on=tests is not None and tests.is_trained_on,
        ) as progress,
        going_on(progress, options, has_checkpoints),
    ):
        result = run_encrypted_model_job(inputs, options.runs, progress, resume_from=options.resume)
    return show_run(result, console, options)


def _show_checked(inputs: EncryptedModelInputs, options: argparse.Namespace) -> int:
    """Whose rows would be trained on, who would get the model, and what rounds cost."""
    check_may_run(inputs.site, inputs.job)
    settings, measured = inputs.job.settings, inputs.describe_measured()
    estimate = cost_of_encrypted_model_job(inputs)
    facts = {host: inputs.describe(host) for host in inputs.tables}
    columns = len(next(iter(inputs.tables.values())).feature_names)
    plan = plan_round(settings, columns)
    if options.json:
        told = {
            "protocol": "encrypted_model",
            "protection": settings.protection,
            "owner": settings.owner,
            "columns": columns,
            "hosts": [
                {"name": host, "rows": one.rows, "held_out": one.held_out, "notes": list(one.notes)}
                for host, one in facts.items()
            ],
            "measured_rows": 0 if measured is None else measured.rows,
            "round": {"numbers": plan.numbers, "ciphertexts": plan.ciphertexts, "products": plan.products},
            "truncation_bits": plan.truncation_bits,
            "estimate": estimate.to_json(),
        }
        sys.stdout.write(json.dumps(told, indent=1) + "\n")
        return 0
    rows = tuple((host, f"{one.rows:,}", f"{one.held_out:,}") for host, one in facts.items())
    on_what = "measures it on nothing" if measured is None else f"measures it on {measured.rows:,} rows"
    note = (
        f"{columns:,} columns, protection {settings.protection!r}. {settings.owner} alone gets the model, and "
        f"{on_what}; {settings.arbiter} holds the key, {settings.aggregator} adds. The model has {plan.numbers:,} "
        f"numbers, and a truncation leads the run astray with odds below 2^-{plan.truncation_bits}."
    )
    console = Console()
    checked = Table("What would be trained", ("host", "rows", "held out"), rows, note)
    show_tables(console, [checked, steps_cost_table(estimate, "on all rows of the hosts", estimate.say_apart())])
    show_notes(console, inputs.tables)
    console.print("\nevery check passed; nothing was written or sent", highlight=False)
    return 0
