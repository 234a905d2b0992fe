"""A site's leave for Hekat's components: `class_allow_list` in `local` of its start-up kit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hekat.disk_errors import disk_errors_as_state_errors, read_file
from hekat.errors import StateError
from hekat.state import replace_file

ALLOWED = "hekat."
ALLOW_LIST = "class_allow_list"
LOG_STREAMING = "allow_log_streaming"
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


def allows_hekat(resources: dict[str, Any]) -> bool:
    """Whether a job may have Hekat's components at the site."""
    listed = resources.get(ALLOW_LIST)
    return isinstance(listed, list) and bool({ALLOWED, "*"} & {entry for entry in listed if isinstance(entry, str)})


def add_to_allow_list(local: Path, default: list[str]) -> None:
    """Write resources.json with Hekat among the classes that it allows; `default` are those where it names none.

    Raises StateError.
    """
    resources = read_resources(local)
    if allows_hekat(resources):
        return
    listed = resources.get(ALLOW_LIST)
    resources[ALLOW_LIST] = [*(listed if isinstance(listed, list) else default), ALLOWED]
    with disk_errors_as_state_errors(f"{local} cannot be made"):
        local.mkdir(parents=True, exist_ok=True)
    replace_file(local / _OWN, json.dumps(resources, indent=2).encode() + b"\n", mode=0o644)
