"""What an NVIDIA FLARE start-up kit lets jobs do at a site, and what of that its operator should change."""

from __future__ import annotations

from pathlib import Path

from hekat.errors import InputError
from hekat.launch.nvflare.allow_list import (
    ALLOW_ALL,
    ALLOW_LIST,
    COMPONENTS,
    ENFORCED,
    ENFORCEMENT,
    LOG_STREAMING,
    is_too_wide,
    missing_components,
    read_resources,
)
from hekat.launch.nvflare.link_findings import describe_link

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
        ALLOW_LIST: _describe_list(resources.get(ALLOW_LIST), local),
        ENFORCEMENT: _describe_enforcement(resources.get(ENFORCEMENT, ENFORCED)),
        LOG_STREAMING: _describe_streaming(resources.get(LOG_STREAMING, True)),
        **describe_link(local),
    }


def _describe_list(listed: object, local: Path) -> str:
    cure = f"from hekat.nvflare import allow_hekat; allow_hekat({str(local)!r})"
    entries = listed if isinstance(listed, list) else []
    if ALLOW_ALL in entries:
        return f'warning: "{ALLOW_ALL}" lets a job without code of its own call any function; cure: {cure}'
    wide = [entry for entry in entries if is_too_wide(entry)]
    if wide:
        return (
            f"warning: {', '.join(map(repr, wide))} lets a job without code of its own call any function of Hekat, "
            f"and so run what it likes; cure: {cure}"
        )
    missing = missing_components(listed)
    if missing == list(COMPONENTS):
        return f"warning: none of Hekat's components, so its jobs are refused here; cure: {cure}"
    if missing:
        return f"warning: no {', no '.join(missing)}, so jobs that name these are refused here; cure: {cure}"
    return "allows Hekat's components, and nothing else of Hekat"


def _describe_enforcement(mode: object) -> str:
    # The engine takes a missing entry for "enforce", and refuses all jobs for anything but that and "warn".
    if mode == ENFORCED:
        return ENFORCED
    return f"warning: {str(mode)[:40]!r}, so the allow list does not hold; cure: {ENFORCEMENT} = {ENFORCED!r}"


def _describe_streaming(allowed: object) -> str:
    # The engine takes a missing entry for leave, and nothing but false for none.
    if allowed is False:
        return "off"
    return (
        "warning: logs of this site, with tracebacks of whatever runs in its jobs, go to the server; "
        f"cure: {LOG_STREAMING} = false in resources.json"
    )
