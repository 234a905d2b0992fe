"""The folder that a loop leaves: new or empty, so that ledgers of two runs are never mixed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from hekat.channel import PartyKey
from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import InputError
from hekat.protocol.role_session import LEDGER_FOLDER, PARTIES_FILE
from hekat.state import replace_file

COSTS_FILE = "costs.json"


def make_folder(folder: Path, *, states: str | None = None) -> Path:
    """The folder of a run, with places for ledgers and, under the name `states`, for what no one else may read.

    Raises InputError where something lies in it.
    """
    with disk_errors_as_state_errors(f"{folder} could not be made"):
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError(
                f"the folder {folder} is not empty",
                expected="a new or empty folder for each run",
                got="one with files in it",
                cure="name another one: ledgers of two runs are not mixed",
            )
        (folder / LEDGER_FOLDER).mkdir()
        if states is not None:
            (folder / states).mkdir(mode=0o700)
    return folder


def write_public_keys(folder: Path, keys: Mapping[str, PartyKey]) -> None:
    """Write the public keys of all roles, which the ledgers of the folder are checked with."""
    texts = {name: key.public.text for name, key in keys.items()}
    replace_file(folder / PARTIES_FILE, json.dumps(texts, indent=1).encode(), mode=0o644)
