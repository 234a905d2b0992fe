"""A site's leave for Hekat's components: `class_allow_list` in `local` of its start-up kit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hekat.disk_errors import disk_errors_as_state_errors, read_file
from hekat.errors import StateError
from hekat.state import replace_file

ALLOW_LIST = "class_allow_list"
ENFORCEMENT, ENFORCED = "class_list_enforcement_mode", "enforce"
LOG_STREAMING = "allow_log_streaming"
ALLOW_ALL = "*"
_PACKAGE, _PLACE = "hekat", "hekat.launch.nvflare"
COMPONENTS = (
    f"{_PLACE}.executor.HekatExecutor",
    f"{_PLACE}.controller.HekatController",
    f"{_PLACE}.protected.components.HekatAggregator",
    f"{_PLACE}.protected.components.HekatParty",
    f"{_PLACE}.protected.components.InstallModel",
    f"{_PLACE}.protected.components.SumUpdate",
    f"{_PLACE}.protected.lean_filters.SendModelOnce",
    f"{_PLACE}.protected.lean_filters.SpreadZeros",
    f"{_PLACE}.protected.same_answers.NoteRound",
    f"{_PLACE}.protected.same_answers.SameAnswers",
)
"""The classes that jobs of Hekat name. A list has these and nothing else of Hekat: the engine calls whatever has a name
below an entry, also functions and what a module imported, with the arguments that a job gives."""
_OWN, _DEFAULT = "resources.json", "resources.json.default"


def read_resources(local: Path) -> dict[str, Any]:
    """What resources.json of the folder says, or resources.json.default where there is none; {} without both.

    Raises StateError for a file that is no table.
    """
    path = next((local / name for name in (_OWN, _DEFAULT) if (local / name).is_file()), None)
    if path is None:
        return {}
    try:
        content = json.loads(read_file(path))
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise StateError(f"{path} is damaged", expected="a table in JSON", got="something else", cure="write it anew")
    return content


def missing_components(listed: object) -> list[str]:
    """Hekat's components that a job may not have at a site with this list."""
    entries = listed if isinstance(listed, list) else []
    return [name for name in COMPONENTS if not any(_covers(entry, name) for entry in entries)]


def is_too_wide(entry: object) -> bool:
    """Whether a job may call more of Hekat by this entry than its components, or the entry looks as if it may."""
    if not isinstance(entry, str) or entry in COMPONENTS:
        return False
    first, dot, _ = entry.strip().partition(".")
    return entry == ALLOW_ALL or first == _PACKAGE or (not dot and _PACKAGE.startswith(first))


def add_to_allow_list(local: Path, default: list[str]) -> list[str]:
    """Write resources.json with Hekat's components, and no wider entry for Hekat, among the classes that it allows.

    `default` are those that the engine allows where the site names none, and in the place of "*". Returns the entries
    that were taken out. Raises StateError.
    """
    resources = read_resources(local)
    listed = resources.get(ALLOW_LIST)
    held = listed if isinstance(listed, list) else default
    removed = [entry for entry in held if is_too_wide(entry)]
    own = [*default, *held] if ALLOW_ALL in removed else held
    allowed: list[object] = []
    for entry in (*own, *COMPONENTS):
        if not is_too_wide(entry) and entry not in allowed:
            allowed.append(entry)
    if allowed == listed:
        return []
    resources[ALLOW_LIST] = allowed
    with disk_errors_as_state_errors(f"{local} cannot be made"):
        local.mkdir(parents=True, exist_ok=True)
    replace_file(local / _OWN, json.dumps(resources, indent=2).encode() + b"\n", mode=0o644)
    return removed


def _covers(entry: object, name: str) -> bool:
    """Whether the engine lets a job name `name` by this entry."""
    if not isinstance(entry, str) or not entry:
        return False
    return entry in (ALLOW_ALL, name) or name.startswith(f"{entry.removesuffix('.')}.")
