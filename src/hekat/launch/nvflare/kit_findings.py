"""What an NVIDIA FLARE start-up kit lets jobs do at a site, and what of that its operator should change."""

from __future__ import annotations

from pathlib import Path

from hekat.errors import HekatError, InputError
from hekat.launch.nvflare.allow_list import ALLOW_LIST, ALLOWED, LOG_STREAMING, allows_hekat, read_resources
from hekat.launch.nvflare.site_link import LINK_FILE, read_site_link

_LOCAL = "local"


def describe_kit(kit: Path) -> dict[str, str]:
    """Findings by what they are about; what should be changed begins with "warning" and says how.

    Raises InputError where `kit` is no start-up kit, StateError where its resources are damaged.
    """
    local = kit / _LOCAL
    if not local.is_dir():
        raise InputError(
            "this is no start-up kit",
            expected=f"a folder with the folders startup and {_LOCAL}",
            got=str(kit),
            cure="give the folder that NVIDIA FLARE's provisioning made for this site",
        )
    resources = read_resources(local)
    return {
        ALLOW_LIST: _describe_list(resources.get(ALLOW_LIST), is_allowed=allows_hekat(resources)),
        LOG_STREAMING: _describe_streaming(resources.get(LOG_STREAMING, True)),
        LINK_FILE: _describe_link(local / LINK_FILE),
    }


def _describe_list(listed: object, *, is_allowed: bool) -> str:
    if isinstance(listed, list) and "*" in listed:
        return f'warning: "*" lets a job name any class; cure: name those that jobs need, among them "{ALLOWED}"'
    if is_allowed:
        return f"allows {ALLOWED}"
    return f'warning: no "{ALLOWED}", so jobs of Hekat are refused here; cure: add it to {ALLOW_LIST} in resources.json'


def _describe_streaming(allowed: object) -> str:
    # The engine takes a missing entry for leave, and nothing but false for none.
    if allowed is False:
        return "off"
    return (
        "warning: logs of this site, with tracebacks of whatever runs in its jobs, go to the server; "
        f"cure: {LOG_STREAMING} = false in resources.json"
    )


def _describe_link(path: Path) -> str:
    if not path.is_file():
        return f'warning: missing; cure: write {path}: format = 1, site = "/path/to/site.toml", runs = "/path/to/runs"'
    try:
        link = read_site_link(path)
    except HekatError as error:
        return f"warning: {error}"
    return f"site file {link.site}" if link.site.is_file() else f"warning: there is no site file {link.site}"
