"""`hekat init --protocol vertical_linear`, `vertical_trees`, `vertical_network`, `psi`: a job of guest and hosts."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

from hekat.cli.init.guest_from import Suggestion, suggest_guest_job
from hekat.cli.option_clashes import refuse_options
from hekat.command_name import as_called
from hekat.errors import InputError
from hekat.job.new.new_guest_job import NewGuestJob
from hekat.job.new.trees.bin_leak import is_beyond_rule
from hekat.job.new.write_files import JOB_FILE
from hekat.job.new.write_guest_job import write_guest_job
from hekat.printable import printable


def init_guest_job(options: argparse.Namespace) -> int:
    """Write the files that the options describe, and say what comes next."""
    others = (
        "parties",
        "aggregator",
        *(() if options.protocol == "vertical_trees" else ("protection", "accept_bin_leak")),
        *(() if options.protocol == "vertical_network" else ("fear_for",)),
    )
    refuse_options(options, options.protocol, *others, command="hekat init")
    if options.example or (options.data not in (None, "csv") and options.tables is None):
        got = "--example" if options.example else f"--data {options.data}"
        raise InputError(
            f"{got} is for horizontal jobs",
            expected=f"--protocol {options.protocol} with tables of yours in CSV files",
            got=got,
            cure="leave it out; the site file that is written says how to name another kind of source",
        )
    if options.split or options.allow_two_parties:
        given = "--split" if options.split else "--allow-two-parties"
        raise InputError(
            f"{given} is for horizontal jobs", expected="a job without it", got=given, cure=f"leave out {given}"
        )
    if options.arbiter == "none":  # a role of that name is what nobody means
        raise InputError(
            "--arbiter takes the name of a role",
            expected="a name such as judge; without --arbiter, weights in shares",
            got="none",
            cure="leave out --arbiter",
        )
    if options.protocol == "psi":
        refuse_options(options, "psi", "arbiter", "model", "classes", "label", command="hekat init")
    if options.protocol in ("vertical_trees", "vertical_network"):
        refuse_options(options, options.protocol, "arbiter", "model", command="hekat init")
    if options.protocol == "vertical_network":
        _ask_what_is_feared_for(options)
    usual = NewGuestJob(options.protocol)
    found = None if options.tables is None else suggest_guest_job(options, usual)
    job = _choose(options, usual, found)
    paths = write_guest_job(options.folder, job)
    command = f"hekat run {options.folder / JOB_FILE}"
    is_whole = job.sources.keys() >= set(job.parties)
    next_step = command if is_whole else f"say in site.toml where rows lie, then: {command} --dry-run"
    if options.json:
        told = {"written": [str(path) for path in paths], "job": job.name, "protocol": job.protocol}
        sys.stdout.write(json.dumps(told, indent=1) + "\n")
        return 0
    said = [] if found is None else list(found.say(fills=not job.is_trees))
    if job.is_network:
        said += _say_what_is_told(job)
    if job.is_trees and not job.waives_bin_leak:
        said += _say_bin_leak(job, None if found is None else found.most_rows)
    for line in (*(f"written     {path}" for path in paths), *said, f"next        {next_step}"):
        sys.stdout.write(as_called(printable(line)) + "\n")
    return 0


def _ask_what_is_feared_for(options: argparse.Namespace) -> None:
    """Raise InputError unless the options say what others must not learn: it decides the form of a split network."""
    if options.fear_for is None:
        raise InputError(
            "what others must not learn decides how a network is split",
            expected="--fear-for labels, or --fear-for columns",
            got="neither",
            cure="labels: hosts learn nothing of them, and over the epochs the guest learns features of hosts but for "
            "a rotation; columns: of one host, all lies in shares and nothing opens but the mean loss, at three times "
            "the bytes",
        )


def _say_what_is_told(job: NewGuestJob) -> Iterator[str]:
    """What a reader of a new job of a split network has agreed to."""
    hosts = ", ".join(job.hosts)
    if job.is_sealed:
        yield f"to know     {job.guest}: learns the mean loss of each epoch; {hosts}: when training ends. A table whose"
        yield "            labels do not follow products of both parties' columns trains as well, and faster, with"
        yield "            --protocol vertical_linear: docs/explanation/split_networks.md"
        return
    yield f"to know     {hosts}: learns nothing of labels; {job.guest}: features of {hosts} but for a rotation, which"
    yield "            accepted under [column_leak] of job.toml says, and column_leak_waiver of site.toml allows:"
    yield "            docs/explanation/split_networks.md"


def _choose(options: argparse.Namespace, usual: NewGuestJob, found: Suggestion | None) -> NewGuestJob:
    """The new job, from the options, then from what the tables suggest, then from the defaults."""
    model = options.model or usual.model
    no_classes = options.protocol == "psi" or model == "linear"
    said: dict[str, Any] = {
        "guest": options.guest or usual.guest,
        "hosts": options.hosts or usual.hosts,
        "model": model,
        "classes": options.classes if options.classes is not None else () if no_classes else usual.classes,
        "label": options.label or usual.label,
        "id": options.id or usual.id,
        "protection": options.protection or usual.protection,
        "waives_bin_leak": bool(options.accept_bin_leak),
        "is_sealed": options.fear_for == "columns",
    }
    return NewGuestJob(
        protocol=options.protocol,
        name=options.name or options.folder.resolve().name or usual.name,
        arbiter=options.arbiter,
        **said | ({} if found is None else found.fill_in(options.model)),
    )


def _say_bin_leak(job: NewGuestJob, most_rows: int | None) -> Iterator[str]:
    """What the parties have to decide before hosts take part; `most_rows` None where no table was read."""
    if most_rows is not None and not is_beyond_rule(job, most_rows):
        return
    which = "most jobs" if most_rows is None else f"these trees on {most_rows:,} rows"
    yield f"to decide   the sums of {which} tell the guest more of hosts' bins than the rule lets; hekat run refuses"
    yield "            the job, unless all parties accept that: hekat init --accept-bin-leak writes it into both files,"
    yield "            or take the # off accepted under [bin_leak] of job.toml, and say bin_leak_waiver = true under"
    yield "            [policy] of site.toml: docs/explanation/trees.md, The rule on bins and its waiver"
