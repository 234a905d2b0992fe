"""`hekat run` of trees across columns: its checks in a dry run, then bars of matching and of iterations."""

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
from hekat.cost.trees_protections import cost_under_other
from hekat.cost.vertical_trees import cost_of_trees_job
from hekat.data.number_text import count_of
from hekat.errors import InputError
from hekat.job.load_any_job import check_may_run
from hekat.launch.vertical_trees.run import run_trees_job
from hekat.protocol.vertical.hold_out import count_held_out
from hekat.report import Table
from hekat.run.predictions import PARTS_FOLDER
from hekat.run.vertical.checkpoint_files import has_checkpoints
from hekat.run.vertical.earlier_run import refuse_two_beginnings
from hekat.run.vertical.load_tables import find_training_rows
from hekat.run.vertical_trees.load_inputs import TreesInputs, load_trees_inputs, measure_leaks
from hekat.run.vertical_trees.warm_start import load_trees_start

ALARM = "Protection is NONE: the guest sends gradients, which give labels away, in the clear."


def run_trees(options: argparse.Namespace) -> int:
    """Run the job that the options name, or only check it."""
    refuse_options(options, "vertical_trees", "lose", "bandwidth", "latency")
    if options.dry_run and options.resume is not None:
        raise InputError(
            "--dry-run begins nothing, so it resumes nothing",
            expected="--dry-run without --resume",
            got="--resume",
            cure="leave one of them out",
        )
    refuse_two_beginnings(options.resume, options.start_from)
    inputs = load_trees_inputs(
        options.job,
        options.site,
        lambda: read_passphrase(options.passphrase_file, "the guest's"),
        is_rehearsal=options.dry_run,
    )
    console = Console(stderr=options.json)
    if options.dry_run:
        return _show_checked(inputs, options)
    if inputs.job.settings.protection == "none":
        console.print(f"[bold red]{ALARM}[/]")
    with (
        displayed(options, console, inputs.job, played="in turn") as progress,
        going_on(progress, options, has_checkpoints),
    ):
        result = run_trees_job(
            inputs, options.runs, progress, resume_from=options.resume, start_from=options.start_from
        )
    return show_run(result, console, options, places={"parts": result.folder / PARTS_FOLDER})


def _show_checked(inputs: TreesInputs, options: argparse.Namespace) -> int:
    """Whose columns would be trained together, how rows are matched, what sums would tell, what iterations cost."""
    job, settings = inputs.job, inputs.job.settings
    check_may_run(inputs.site, job)
    start = None if options.start_from is None else load_trees_start(options.start_from, inputs)
    common = find_training_rows(job, inputs.tables, settings.training.seed)
    leaks = measure_leaks(settings, common)
    most = min(len(table) for table in inputs.tables.values())
    predicted = min((len(table) for table in inputs.test_tables.values()), default=count_held_out(most, job.hold_out))
    parties = [
        {
            "name": party,
            "rows": len(inputs.tables[party]),
            "columns": int(inputs.tables[party].features.shape[1]),
            "notes": list(inputs.tables[party].notes),
            "bits_held": round(leaks[party].held_bits) if party in leaks else None,
            "bits_told_at_most": round(leaks[party].opened_bits) if party in leaks else None,
        }
        for party in settings.parties
    ]
    done = 0 if start is None else start.iterations
    estimate = cost_of_trees_job(inputs, done)
    other = cost_under_other(inputs, estimate.total, done)
    told: dict[str, Any] = {
        "protocol": "vertical_trees",
        "protection": settings.protection,
        "label_privacy": settings.label_privacy,
        "hide_partition": settings.hide_partition,
        "intersection": job.intersection_kind,
        "started_from": None if start is None else start.run_id,
        "parties": parties,
        "bin_leak_waived": settings.bin_leak_accepted is not None,
        "prediction": {"rows_at_most": predicted, "max_predictions": inputs.site.policy.rows_to_predict()},
        "estimate": estimate.to_json(),
        "other_protection": None if isinstance(other, str) else other.to_json(),
    }
    if options.json:
        sys.stdout.write(json.dumps(told, indent=1) + "\n")
        return 0
    rows = tuple(
        (
            str(found["name"]),
            *(
                "" if found[key] is None else f"{found[key]:,}"
                for key in ("rows", "columns", "bits_held", "bits_told_at_most")
            ),
        )
        for found in parties
    )
    rule = "WAIVED by the job" if told["bin_leak_waived"] else "held"
    begins = (
        ""
        if start is None
        else f"Training would go on with {count_of(start.iterations, 'iteration')} of run {start.run_id}, in its bins, "
        "and its parts would predict all rows first. "
    )
    note = (
        f"Protection '{settings.protection}', rows matched by '{job.intersection_kind}'.{say_label_privacy(settings)} "
        "Bits: what all rows hold of the host's column that loses most, and what sums of all trees tell the guest of "
        "it at most; the rule of ten "
        f"times as many held as told is {rule}. {begins}"
        f"{f'Up to {predicted:,} rows are' if predicted else 'No row is'} predicted to measure on; the site lets "
        f"{inputs.site.policy.rows_to_predict():,} rows in all be predicted with a party's part of the model."
    )
    console = Console()
    checked = Table("What would be trained", ("party", "rows", "columns", "bits held", "bits told"), rows, note)
    show_tables(console, [checked, columns_cost_table(estimate)])
    console.print(f"Not rehearsed beside it: {other}." if isinstance(other, str) else other.say(), highlight=False)
    show_notes(console, inputs.tables)
    console.print("\nevery check passed; nothing was written or sent", highlight=False)
    return 0
