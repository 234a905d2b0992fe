"""`hekat report`: draws the report of a finished run anew, and prints its tables."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rich.console import Console

from hekat.cli.tables import show_findings, show_tables
from hekat.printable import printable
from hekat.report import load_summary, terminal_findings, terminal_tables, write_report


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "report",
        help="write a run's report.html anew and print its tables",
        description="Reads summary.json of a finished run, writes report.html beside it, and prints the same tables. "
        "The page needs no network and no script.",
    )
    parser.add_argument("run", type=Path, help="a run's folder")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON instead of tables")
    parser.set_defaults(handle=run)


def run(options: argparse.Namespace) -> int:
    summary = load_summary(options.run)
    path = write_report(options.run)
    if options.json:
        sys.stdout.write(json.dumps({"report": str(path), **summary}, indent=1) + "\n")
        return 0
    console = Console()
    show_tables(console, terminal_tables(summary))
    show_findings(console, terminal_findings(summary))
    console.print(f"\nreport      {printable(path)}", highlight=False, markup=False, soft_wrap=True)
    return 0
