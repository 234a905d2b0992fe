"""What hekat.toml of a site leads to: what is missing, open to others or cannot be written, each with its cure."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from hekat.errors import HekatError
from hekat.job.site_file import load_site
from hekat.launch.nvflare.kit_binding import ROOT_FILE, load_root
from hekat.launch.nvflare.site_link import LINK_FILE, LINK_VARIABLE, PIN_KIT, SiteLink, read_site_link


def describe_link(local: Path) -> dict[str, str]:
    """Findings by what they are about, as `describe_kit` gives them; `local` is the kit's folder.

    The file is the one that HEKAT_NVFLARE names, if it names one, as for a site's processes.
    """
    named = Path(os.environ.get(LINK_VARIABLE) or local / LINK_FILE)
    try:
        return _describe_file(local / LINK_FILE if named.is_dir() else named)
    except OSError as error:
        told = f"{error.filename}: {error.strerror}"
        return {LINK_FILE: f"warning: {told}; cure: ask as the user that runs the site's processes, who has to read it"}


def _describe_file(path: Path) -> dict[str, str]:
    if not path.is_file():
        cure = f'write {path}: format = 1, site = "/path/to/site.toml", runs = "/path/to/runs"'
        return {LINK_FILE: f"warning: missing; cure: {cure}"}
    try:
        link = read_site_link(path)
    except HekatError as error:
        return {LINK_FILE: f"warning: {error}"}
    found = {LINK_FILE: _describe_site(link.site), "runs": _describe_runs(link.runs)}
    if link.passphrase_file is not None:
        found["passphrase_file"] = _describe_passphrase(link.passphrase_file)
    if link.pin == PIN_KIT:
        found["pin"] = _describe_pin(link)
    return found


def _describe_site(site: Path) -> str:
    if not site.is_file():
        return f"warning: there is no site file {site}; cure: write it, or correct site in {LINK_FILE}"
    try:
        load_site(site)
    except HekatError as error:
        return f"warning: site file {site}: {error}"
    return f"site file {site}"


def _describe_runs(runs: Path) -> str:
    there = next(folder for folder in (runs, *runs.parents) if folder.exists())
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        return f"folder {runs}" if there == runs else f"folder {runs}, made by the first run"
    return (
        f"warning: {there} is no folder that this user can write to, so no run has a place; cure: have {runs} "
        f"belong to the user that runs the site's processes, or correct runs in {LINK_FILE}"
    )


def _describe_passphrase(path: Path) -> str:
    if not path.is_file():
        return f"warning: there is no file {path}; cure: write the passphrase into it, mode 600"
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        return f"warning: {path} has mode {mode:o}, so others may read the passphrase; cure: chmod 600 {path}"
    return f"{path}, mode {mode:o}"


def _describe_pin(link: SiteLink) -> str:
    root = link.startup / ROOT_FILE
    if not root.is_file():
        return (
            f"warning: there is no root CA {root}, so every role is refused; cure: name the folder with {ROOT_FILE} in "
            f'{LINK_FILE}: kit = "/path/to/startup"'
        )
    try:
        load_root(link.startup)
    except HekatError as error:
        return f"warning: {root}: {error}"
    return f"every role's kit has to sign for its party key, by the root CA {root}"
