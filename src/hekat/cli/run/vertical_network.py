"""`hekat run` of a split network: its checks in a dry run, then bars of matching and of epochs with the loss."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from rich.console import Console

from hekat.cli.option_clashes import refuse_options
from hekat.cli.run.cost_tables import columns_cost_table
from hekat.cli.run.end import going_on, show_run
from hekat.cli.run.live import displayed
from hekat.cli.run.table_notes import show_notes
from hekat.cli.tables import show_tables
from hekat.cost.vertical_network import cost_of_network_job
from hekat.errors import InputError
from hekat.job.load_any_job import check_may_run
from hekat.launch.vertical_network.run import run_network_job
from hekat.protocol.vertical.hold_out import count_held_out
from hekat.protocol.vertical_network.settings import SEALED
from hekat.report import Table
from hekat.run.predictions import PARTS_FOLDER
from hekat.run.vertical.checkpoint_files import has_checkpoints
from hekat.run.vertical.earlier_run import refuse_two_beginnings
from hekat.run.vertical_network.load_inputs import NetworkInputs, load_network_inputs
from hekat.run.vertical_network.warm_start import load_network_start

ALARM = "Protection is NONE: features, gradients and weights are sent in the clear."
_LABELS = {
    "frozen": "nothing of labels: no gradient opens to it",
    "source": "nothing of labels: no gradient opens to it",
    "trained": "labels, off the gradients of its bottom, and something of all others' columns",
}


def run_network(options: argparse.Namespace) -> int:
    """Run the job that the options name, or only check it."""
    refuse_options(options, "vertical_network", "lose", "bandwidth", "latency", "passphrase_file")
    if options.dry_run and options.resume is not None:
        raise InputError(
            "--dry-run begins nothing, so it resumes nothing",
            expected="--dry-run without --resume",
            got="--resume",
            cure="leave one of them out",
        )
    refuse_two_beginnings(options.resume, options.start_from)
    inputs = load_network_inputs(options.job, options.site, is_rehearsal=options.dry_run)
    console = Console(stderr=options.json)
    if options.dry_run:
        return _show_checked(inputs, options)
    if inputs.job.settings.protection == "none":
        console.print(f"[bold red]{ALARM}[/]")
    with (
        displayed(options, console, inputs.job, played="in turn") as progress,
        going_on(progress, options, has_checkpoints),
    ):
        result = run_network_job(
            inputs, options.runs, progress, resume_from=options.resume, start_from=options.start_from
        )
    return show_run(result, console, options, places={"parts": result.folder / PARTS_FOLDER})


def _show_checked(inputs: NetworkInputs, options: argparse.Namespace) -> int:
    """Whose columns would be trained together, how rows are matched, who would learn what, what epochs cost."""
    job, settings = inputs.job, inputs.job.settings
    check_may_run(inputs.site, job)
    start = None if options.start_from is None else load_network_start(options.start_from, inputs)
    most = min(len(table) for table in inputs.tables.values())
    predicted = min((len(table) for table in inputs.test_tables.values()), default=count_held_out(most, job.hold_out))
    parties = [
        {
            "name": party,
            "rows": len(inputs.tables[party]),
            "columns": int(inputs.tables[party].features.shape[1]),
            "notes": list(inputs.tables[party].notes),
            "learns": _learns(inputs, party),
        }
        for party in settings.parties
    ]
    estimate = cost_of_network_job(inputs)
    told: dict[str, Any] = {
        "protocol": "vertical_network",
        "protection": settings.protection,
        "host_bottom": settings.host_bottom,
        "label_privacy": settings.label_privacy,
        "intersection": job.intersection_kind,
        "started_from": None if start is None else start.run_id,
        "parties": parties,
        "prediction": {"rows_at_most": predicted, "max_predictions": inputs.site.policy.rows_to_predict()},
        "estimate": estimate.to_json(),
    }
    if options.json:
        sys.stdout.write(json.dumps(told, indent=1) + "\n")
        return 0
    rows = tuple((str(one["name"]), f"{one['rows']:,}", f"{one['columns']:,}", str(one["learns"])) for one in parties)
    begins = "" if start is None else f"Training would go on with the network of run {start.run_id}. "
    note = (
        f"Protection '{settings.protection}', rows matched by '{job.intersection_kind}'. {begins}"
        f"{f'Up to {predicted:,} rows are' if predicted else 'No row is'} predicted to measure on; the site lets "
        f"{inputs.site.policy.rows_to_predict():,} rows in all be predicted with a party's part of the model."
    )
    console = Console()
    checked = Table("What would be trained", ("party", "rows", "columns", "would learn of others"), rows, note)
    show_tables(console, [checked, columns_cost_table(estimate)])
    show_notes(console, inputs.tables)
    console.print("\nevery check passed; nothing was written or sent", highlight=False)
    return 0


def _learns(inputs: NetworkInputs, party: str) -> str:
    """What this party would learn of the others, in a few words."""
    settings = inputs.job.settings
    if settings.form == SEALED:
        learns = "the mean loss of each epoch" if party == settings.guest else "nothing but when training ends"
        is_told = inputs.job.measures and party in inputs.job.prediction.receivers
        return f"{learns}, and scores of rows to measure on" if is_told else learns
    if party == settings.guest:
        return "features of hosts but for a rotation"
    if settings.host_bottom == "trained" and settings.label_privacy is not None:
        return f"what replaced labels tell, epsilon {settings.label_privacy:g}, and something of all others' columns"
    return _LABELS[settings.host_bottom]
