"""`hekat run` of a vertical regression: its checks in a dry run, then bars of matching and of epochs with the loss."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from rich.console import Console

from hekat.cli.option_clashes import refuse_options
from hekat.cli.passphrase import read_passphrase
from hekat.cli.run.cost_tables import columns_cost_table
from hekat.cli.run.end import going_on, show_run
from hekat.cli.run.label_note import say_label_privacy
from hekat.cli.run.live import displayed
from hekat.cli.run.table_notes import show_notes
from hekat.cli.tables import show_tables
from hekat.cost.vertical_linear import cost_of_vertical_job
from hekat.errors import InputError
from hekat.job.load_any_job import check_may_run
from hekat.launch.vertical_linear.run import run_vertical_job
from hekat.protocol.vertical.batches import batch_count
from hekat.protocol.vertical.hold_out import count_held_out
from hekat.protocol.vertical_linear.shared_weights.many_parties.batch_rows import least_batch_rows
from hekat.report import Table
from hekat.run.predictions import PARTS_FOLDER
from hekat.run.vertical.checkpoint_files import has_checkpoints
from hekat.run.vertical.earlier_run import refuse_two_beginnings
from hekat.run.vertical_linear.load_inputs import VerticalInputs, load_vertical_inputs
from hekat.run.vertical_linear.warm_start import load_warm_start

SMALL_BATCH_ROWS, MANY_STEPS = 32, 500


def run_vertical(options: argparse.Namespace) -> int:
    """Run the job that the options name, or only check it."""
    refuse_options(options, "vertical_linear", "lose", "bandwidth", "latency")
    if options.dry_run and options.resume is not None:
        raise InputError(
            "--dry-run begins nothing, so it resumes nothing",
            expected="--dry-run without --resume",
            got="--resume",
            cure="leave one of them out",
        )
    refuse_two_beginnings(options.resume, options.start_from)
    inputs = load_vertical_inputs(
        options.job,
        options.site,
        lambda: read_passphrase(options.passphrase_file, "a role's"),
        is_rehearsal=options.dry_run,
    )
    console = Console(stderr=options.json)
    if options.dry_run:
        return _show_checked(inputs, options)
    slow = _describe_many_steps(inputs)
    if slow:
        console.print(f"[yellow]{slow}[/]", highlight=False)
    if inputs.job.settings.protection == "none":
        console.print("[bold red]Protection is NONE: parties see each other's residuals and gradients in the clear.[/]")
    with (
        displayed(options, console, inputs.job, played="in turn") as progress,
        going_on(progress, options, has_checkpoints),
    ):
        result = run_vertical_job(
            inputs, options.runs, progress, resume_from=options.resume, start_from=options.start_from
        )
    places = {"parts": result.folder / PARTS_FOLDER}
    return show_run(result, console, options, places=places)


def _say_holders(inputs: VerticalInputs) -> str:
    """Of three parties or more in form `shared_weights`: who holds shares, and what a batch needs."""
    settings = inputs.job.settings
    if settings.form != "shared_weights" or not settings.quiet_parties:
        return ""
    least = least_batch_rows(settings, sum(table.features.shape[1] for table in inputs.tables.values()))
    return f" {' and '.join(settings.holders)} hold the shares; each batch needs {least:,} common rows or more."


def _show_checked(inputs: VerticalInputs, options: argparse.Namespace) -> int:
    """Whose columns would be trained together, how rows are matched, what gradients would tell, what epochs cost."""
    job, settings = inputs.job, inputs.job.settings
    check_may_run(inputs.site, job)
    start = None if options.start_from is None else load_warm_start(options.start_from, inputs)
    parties = [_describe(inputs, party) for party in settings.parties]
    told: dict[str, Any] = {
        "protocol": "vertical_linear",
        "form": settings.form,
        "protection": settings.protection,
        "label_privacy": settings.label_privacy,
        "intersection": job.intersection_kind,
        "started_from": None if start is None else start.run_id,
        "parties": parties,
        "hosts_together": sum(found["most_equations"] for found in parties if found["name"] in settings.hosts),
        "prediction": _describe_prediction(inputs),
    }
    estimate = cost_of_vertical_job(inputs)
    told["estimate"] = estimate.to_json()
    if options.json:
        sys.stdout.write(json.dumps(told, indent=1) + "\n")
        return 0
    rows = tuple(
        (found["name"], f"{found['rows']:,}", f"{found['columns']:,}", f"{found['most_equations']:,}")
        for found in parties
    )
    if len(settings.hosts) > 1 and told["hosts_together"]:
        rows += (("all hosts together", "", "", f"{told['hosts_together']:,}"),)
    who = f" {settings.arbiter} opens masked gradients." if settings.arbiter is not None else _say_holders(inputs)
    begins = "" if start is None else f" Training would begin with the weights of run {start.run_id}."
    note = (
        f"Form '{settings.form}', protection '{settings.protection}', rows matched by '{job.intersection_kind}'."
        f"{who}{say_label_privacy(settings)}{begins} Equations: on the labels, at the guest on the hosts' scores, "
        f"from a party's own gradients, if all rows of the smallest table are common. "
        f"{_tell_prediction(told['prediction'])}"
    )
    console = Console()
    checked = Table("What would be trained", ("party", "rows", "columns", "equations"), rows, note)
    show_tables(console, [checked, columns_cost_table(estimate)])
    show_notes(console, inputs.tables)
    console.print("\nevery check passed; nothing was written or sent", highlight=False)
    return 0


def _describe_many_steps(inputs: VerticalInputs) -> str | None:
    """What a training in many small batches will take, where it will be long for its batches alone."""
    training = inputs.job.settings.training
    rows = min(len(table) for table in inputs.tables.values())
    batches = batch_count(rows, training.batch_rows)
    steps = batches * training.epochs
    if rows >= SMALL_BATCH_ROWS * batches or steps < MANY_STEPS:
        return None
    seconds = cost_of_vertical_job(inputs).total.seconds
    return (
        f"{steps:,} steps in batches of up to {-(-rows // batches):,} rows will take some {seconds:,.0f} s; larger "
        "training.batch_rows take fewer steps"
    )


def _describe_prediction(inputs: VerticalInputs) -> dict[str, Any]:
    tests = inputs.test_tables.values()
    most = min(len(table) for table in inputs.tables.values())
    held_out = count_held_out(most, inputs.job.hold_out)
    return {
        "score_bits": inputs.job.prediction.score_bits,
        "rows_at_most": min((len(table) for table in tests), default=held_out),
        "calibration_rows_at_most": min(inputs.job.settings.calibration_rows, most - held_out),
        "max_predictions": inputs.site.policy.rows_to_predict(),
    }


def _tell_prediction(told: dict[str, Any]) -> str:
    scored = f"up to {told['rows_at_most']:,} test rows are" if told["rows_at_most"] else "no test row is"
    fitted = told["calibration_rows_at_most"]
    calibrated = f", up to {fitted:,} training rows are, to fit probabilities to labels" if fitted else ""
    return (
        f"Scores are told to 2^-{told['score_bits']}; {scored} predicted for{calibrated}, and the site lets "
        f"{told['max_predictions']:,} rows in all be predicted with a party's part of the model."
    )


def _describe(inputs: VerticalInputs, party: str) -> dict[str, Any]:
    settings = inputs.job.settings
    most_common = min(len(table) for table in inputs.tables.values())
    batches = batch_count(most_common, settings.training.batch_rows)
    columns = int(inputs.tables[party].features.shape[1])
    sees_gradients = settings.form == "arbiter"
    return {
        "name": party,
        "rows": len(inputs.tables[party]),
        "columns": columns,
        "notes": list(inputs.tables[party].notes),
        "most_equations": batches * (columns + (party == settings.guest)) if sees_gradients else 0,
    }
