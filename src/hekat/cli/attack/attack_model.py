"""Attacks a model as `hekat attack` was told to, and writes page and scores, whole or not at all."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from rich.console import Console

from hekat.cli.attack.masks import DEFAULT_MASKS, NamedMask, make_masks
from hekat.cli.attack.model import LoadedModel, load_model
from hekat.cli.attack.rows import LoadedRows, load_rows
from hekat.cli.attack.run_trials import TrialTable, make_attack, run_trials
from hekat.cli.sigterm import interrupted_by_sigterm
from hekat.cli.tables import show_tables
from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import InputError, StateError
from hekat.printable import printable
from hekat.privacy.attacks.inversion import Attack
from hekat.report.attack.findings import FINDINGS_FORMAT, verdict
from hekat.report.attack.page import render_attack_page
from hekat.report.attack.tables import score_table
from hekat.summary.run_facts import machine_facts, package_versions
from hekat.torch_library import import_torch

SCORES_FILE, PAGE_FILE = "scores.json", "page.html"
_PACKAGES = ("hekat", "torch", "numpy", "scikit-image", "sewar")


def attack_model(options: argparse.Namespace, stream: IO[str]) -> int:
    """Attack, write, and print the scores; what is finished is written too where Ctrl-C or SIGTERM ends it early."""
    _check_options(options)
    torch = import_torch()
    before = torch.get_num_threads()
    torch.set_num_threads(options.threads)
    try:
        return _attack_and_write(options, stream)
    finally:
        torch.set_num_threads(before)


def _attack_and_write(options: argparse.Namespace, stream: IO[str]) -> int:
    torch = import_torch()
    rows = load_rows(options)
    loaded = load_model(options, rows)
    every = torch.from_numpy(rows.features), torch.from_numpy(rows.labels)
    masks = make_masks(
        options.masks or DEFAULT_MASKS, loaded.attacked, *every, seed=options.seed, expose_embeddings=rows.holds_tokens
    )
    attack = make_attack(options, rows)
    table = TrialTable()
    try:
        with interrupted_by_sigterm():
            run_trials(options, attack, loaded.attacked, rows, masks, table)
    except KeyboardInterrupt as interrupt:
        if table.trials:
            _write(options, _findings(options, attack, loaded, rows, masks, table), table)
            interrupt.add_note(f"what was finished, {len(table.trials)} trials, is in {options.out}")
        raise
    findings = _findings(options, attack, loaded, rows, masks, table)
    _write(options, findings, table)
    _show(options, findings, stream)
    return 0


def _check_options(options: argparse.Namespace) -> None:
    """Raise for what can be refused before anything is read."""
    if (options.local_steps is None) != (options.learning_rate is None):
        raise InputError(
            "--local-steps and --learning-rate belong together",
            expected="both, or neither",
            got="one of them",
            cure="add the other: an update after local steps is attacked step by step",
        )
    if os.path.lexists(options.out):
        raise StateError(f"there is something at {options.out} already", expected="a new folder", cure="name another")
    if not options.out.absolute().parent.is_dir():
        raise StateError(
            f"there is no folder {options.out.absolute().parent}", expected="a folder to make the new one in"
        )


def _findings(
    options: argparse.Namespace,
    attack: Attack,
    loaded: LoadedModel,
    rows: LoadedRows,
    masks: Sequence[NamedMask],
    table: TrialTable,
) -> dict[str, Any]:
    one = "one gradient"
    return {
        "format": FINDINGS_FORMAT,
        "model": {"function": loaded.function, "code": loaded.code, "values": loaded.value_count},
        "weights": "as the function makes them" if options.weights is None else options.weights.name,
        "rows": {
            "file": options.rows.name,
            "count": len(rows.features),
            "tokens": rows.holds_tokens,
            "shape": list(rows.features.shape[1:]),
            "picture_shape": None if rows.picture_shape is None else list(rows.picture_shape),
            "box": None if rows.box is None else list(rows.box),
            "updates": [list(taken) for taken in rows.taken],
        },
        "attack": {
            "name": attack.name,
            "attacker": options.attacker,
            "labels": "known" if options.knows_labels else "read",
            "update": one if options.local_steps is None else f"{options.local_steps} local steps, unrolled",
            "steps": attack.optimiser.step_count,
            "restarts": attack.restarts.count,
            "seed": options.seed,
        },
        "masks": [
            {"name": mask.name, "about": mask.about, "masked": mask.mask.chosen_count, "values": mask.mask.value_count}
            for mask in masks
        ],
        "trials": table.trials,
        "complete": len(table.trials) == len(masks) * len(rows.taken),
        "machine": machine_facts(),
        "versions": package_versions(_PACKAGES),
    }


def _write(options: argparse.Namespace, findings: dict[str, Any], table: TrialTable) -> None:
    """Make the folder, of mode 700 with files of mode 600: pictures of rows are personal data."""
    page = render_attack_page(findings, table.pictures)
    with disk_errors_as_state_errors(f"{options.out} cannot be written"):
        made = Path(tempfile.mkdtemp(prefix=f".{options.out.name}-", dir=options.out.absolute().parent))
        try:
            for name, text in ((SCORES_FILE, json.dumps(findings, indent=1) + "\n"), (PAGE_FILE, page)):
                (made / name).write_text(text, encoding="utf-8")
                (made / name).chmod(0o600)
            made.rename(options.out)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise


def _show(options: argparse.Namespace, findings: dict[str, Any], stream: IO[str]) -> None:
    if options.json:
        stream.write(json.dumps({"folder": str(options.out), **findings}, indent=1) + "\n")
        return
    console = Console()
    show_tables(console, [score_table(findings)])
    for line in (
        verdict(findings),
        f"page        {options.out / PAGE_FILE}",
        f"scores      {options.out / SCORES_FILE}",
    ):
        console.print(printable(line), highlight=False, markup=False, soft_wrap=True)
