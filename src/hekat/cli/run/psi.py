"""`hekat run` of a set intersection: its checks in a dry run, then bars of how far each role is."""

from __future__ import annotations

import argparse
import json
import sys

from rich.console import Console

from hekat.cli.option_clashes import refuse_options
from hekat.cli.run.end import going_on, show_run
from hekat.cli.run.live import displayed
from hekat.cli.tables import show_tables
from hekat.job.load_any_job import check_may_run
from hekat.launch.psi.run import run_intersection_job
from hekat.protocol.psi.padding import padded_count
from hekat.report import Table
from hekat.run.psi.load_inputs import IntersectionInputs, load_intersection_inputs
from hekat.run.psi.own_rows import INTERSECTION_FOLDER


def run_psi(options: argparse.Namespace) -> int:
    """Run the job that the options name, or only check it."""
    refuse_options(options, "psi", "resume", "start_from", "lose", "bandwidth", "latency", "passphrase_file")
    inputs = load_intersection_inputs(options.job, options.site, is_rehearsal=options.dry_run)
    console = Console(stderr=options.json)
    if options.dry_run:
        return _show_checked(inputs, options)
    with (
        displayed(options, console, inputs.job, played="in turn") as progress,
        going_on(progress, options, lambda folder: False),
    ):
        result = run_intersection_job(inputs, options.runs, progress)
    # A party that only learns how many ids are common gets no file.
    is_counted = inputs.job.settings.cardinality_only
    places = {} if is_counted else {"common ids": result.folder / INTERSECTION_FOLDER}
    return show_run(result, console, options, places=places)


def _show_checked(inputs: IntersectionInputs, options: argparse.Namespace) -> int:
    """Whose ids would be compared, and what sizes the others would be told."""
    check_may_run(inputs.site, inputs.job)
    settings = inputs.job.settings
    counts = {name: len(ids) for name, ids in inputs.ids.items()}
    if options.json:
        told = {
            "protocol": "psi",
            "kind": settings.kind,
            "learns": list(settings.learners),
            "ids": counts,
            "sizes_told": {name: padded_count(count) for name, count in counts.items()},
        }
        sys.stdout.write(json.dumps(told, indent=1) + "\n")
        return 0
    rows = tuple(
        (name, "yes" if name in settings.learners else "no", f"{count:,}", f"{padded_count(count):,}")
        for name, count in counts.items()
    )
    console = Console()
    table = Table("What would be compared", ("party", "learns", "ids", "size told to others"), rows)
    show_tables(console, [table])
    console.print("\nevery check passed; nothing was written or sent", highlight=False)
    return 0
