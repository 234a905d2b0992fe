"""`hekat run` of trees across rows: only its checks in a dry run, otherwise training."""

from __future__ import annotations

import argparse
import json
import sys

from rich.console import Console

from hekat.cli.option_clashes import refuse_options
from hekat.cli.passphrase import read_passphrase
from hekat.cli.run.cost_tables import steps_cost_table
from hekat.cli.run.end import going_on, show_run
from hekat.cli.run.horizontal import gather_dropouts, link_of
from hekat.cli.run.live import displayed
from hekat.cli.run.table_notes import show_notes
from hekat.cli.tables import show_tables
from hekat.cost.horizontal_trees import cost_of_row_trees_job
from hekat.job.load_any_job import check_may_run
from hekat.launch.horizontal_trees.run import run_row_trees_job
from hekat.protocol.horizontal_trees.settings import describe_privacy
from hekat.report import Table
from hekat.run.horizontal_trees.checkpoints import has_checkpoint
from hekat.run.horizontal_trees.load_inputs import RowTreesInputs, load_row_trees_inputs
from hekat.run.rows.upload_states import check_upload_states
from hekat.summary.horizontal_trees.caveats import say_asked_colluders

ALARM = "Protection is NONE: the aggregator will see every party's histograms in the clear."


def run_row_trees(options: argparse.Namespace) -> int:
    """Run the job that the options name, or only check it."""
    refuse_options(options, "horizontal_trees", "start_from", "bandwidth", "latency")
    dropouts = gather_dropouts(options.lose)
    link_of(options)
    inputs = load_row_trees_inputs(
        options.job,
        options.site,
        lambda: read_passphrase(options.passphrase_file, "the leader's"),
        is_rehearsal=options.dry_run,
    )
    console = Console(stderr=options.json)
    if options.dry_run:
        return _show_checked(inputs, options)
    if inputs.job.settings.protection == "none":
        console.print(f"[bold red]{ALARM}[/]")
    tests = inputs.test_facts
    with (
        displayed(
            options,
            console,
            inputs.job,
            played="in turn",
            tests_trained_on=tests is not None and tests.is_trained_on,
        ) as progress,
        going_on(progress, options, has_checkpoint),
    ):
        result = run_row_trees_job(inputs, options.runs, progress, resume_from=options.resume, dropouts=dropouts)
    return show_run(result, console, options)


def _say_privacy(inputs: RowTreesInputs) -> str:
    """A sentence with a blank before it; empty without differential privacy."""
    settings = inputs.job.settings
    if settings.privacy is None:
        return ""
    std = float(settings.leaf_noise.total_std)
    spent = [(party, budget.spent()) for party, budget in inputs.budgets.items()]
    budgets = ", ".join(
        f"{party} {one.epsilon:.3g} of {one.limit:g}{say_asked_colluders(settings, one)}" for party, one in spent
    )
    return (
        f" Differential privacy: {describe_privacy(settings)}. Sums of leaves bear noise of {std:.3g} rows' gradients. "
        f"Epsilon spent over all jobs: {budgets}."
    )


def _show_checked(inputs: RowTreesInputs, options: argparse.Namespace) -> int:
    """Whose rows would be trained on together, and what iterations cost."""
    check_may_run(inputs.site, inputs.job)
    check_upload_states(inputs, None, options.runs, is_rehearsal=True)
    estimate = cost_of_row_trees_job(inputs)
    facts = {party: inputs.describe(table) for party, table in inputs.tables.items()}
    if options.json:
        told = {
            "protocol": "horizontal_trees",
            "protection": inputs.job.settings.protection,
            "columns": inputs.column_count,
            "privacy": describe_privacy(inputs.job.settings),
            "parties": [
                {"name": party, "rows": one.rows, "held_out": one.held_out, "notes": list(one.notes)}
                for party, one in facts.items()
            ],
            "estimate": estimate.to_json(),
        }
        sys.stdout.write(json.dumps(told, indent=1) + "\n")
        return 0
    rows = tuple((party, f"{one.rows:,}", f"{one.held_out:,}") for party, one in facts.items())
    note = f"{inputs.column_count:,} columns, protection {inputs.job.settings.protection!r}.{_say_privacy(inputs)}"
    console = Console()
    checked = Table("What would be trained", ("party", "rows", "held out"), rows, note)
    cost = steps_cost_table(estimate, "of full trees", "losses of the final model apart")
    show_tables(console, [checked, cost])
    show_notes(console, inputs.tables)
    console.print("\nevery check passed; nothing was written or sent", highlight=False)
    return 0
