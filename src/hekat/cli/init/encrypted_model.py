"""`hekat init --protocol encrypted_model`: a job whose hosts train a model that they cannot read, to edit."""

from __future__ import annotations

import argparse
import json
import sys

from hekat.cli.option_clashes import refuse_options
from hekat.command_name import as_called
from hekat.errors import InputError
from hekat.job.new.encrypted_model.new_job import ENCRYPTED_MODEL, NewEncryptedModelJob
from hekat.job.new.encrypted_model.write_job import write_encrypted_model_job
from hekat.job.new.write_files import JOB_FILE
from hekat.printable import printable


def init_encrypted_model_job(options: argparse.Namespace) -> int:
    """Write the files that the options describe, and say what comes next."""
    others = ("parties", "guest", "id", "table", "accept_bin_leak", "fear_for")
    refuse_options(options, ENCRYPTED_MODEL, *others, command="hekat init")
    given = {"--from": options.tables, "--example": options.example, "--split": options.split}
    for name, value in given.items():
        if value:
            raise InputError(
                f"{name} is for jobs of other protocols",
                expected=f"hekat init --protocol {ENCRYPTED_MODEL} without it",
                got=name,
                cure=f"leave out {name}; examples/encrypted_model runs as it is",
            )
    if options.data not in (None, "csv"):
        raise InputError(
            "--data is for jobs of other protocols",
            expected="CSV files; the site file that is written says how to name another kind of source",
            got=f"--data {options.data}",
            cure="leave it out",
        )
    job = _choose(options)
    paths = write_encrypted_model_job(options.folder, job)
    if options.json:
        told = {"written": [str(path) for path in paths], "job": job.name, "protocol": ENCRYPTED_MODEL}
        sys.stdout.write(json.dumps(told, indent=1) + "\n")
        return 0
    command = f"hekat run {options.folder / JOB_FILE}"
    lines = [f"written     {path}" for path in paths]
    for line in (*lines, f"next        say in site.toml where rows lie, then: {command} --dry-run"):
        sys.stdout.write(as_called(printable(line)) + "\n")
    return 0


def _choose(options: argparse.Namespace) -> NewEncryptedModelJob:
    """The new job, from the options, then from the defaults."""
    usual = NewEncryptedModelJob()
    model = options.model or usual.model
    classes = options.classes if options.classes is not None else () if model == "linear" else usual.classes
    return NewEncryptedModelJob(
        name=options.name or options.folder.resolve().name or usual.name,
        hosts=options.hosts or usual.hosts,
        owner=options.owner or usual.owner,
        aggregator=options.aggregator or usual.aggregator,
        arbiter=options.arbiter or usual.arbiter,
        model=model,
        classes=classes,
        label=options.label or usual.label,
        protection=options.protection or usual.protection,
        allow_two_parties=options.allow_two_parties,
    )
