"""The jobs that a party has approved, by digest, in its state folder: one small file for each, mode 600.

A job that names party keys runs at a site only once every party here has approved exactly that file. A job with one
changed letter has another digest, which nobody has approved.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from hekat.disk_errors import disk_errors_as_state_errors, read_file
from hekat.errors import JobError, PolicyError, StateError
from hekat.job.site_file import Site
from hekat.state import replace_file
from hekat.toml_text import toml_key

FOLDER = "approved"
_FORMAT = 1


def approve(site: Site, party: str, job_digest: bytes, job_name: str) -> Path:
    """Note durably that `party` agrees to the job; the same again changes nothing. Returns the file.

    Raises JobError where the site gives the party no state folder, StateError where nothing can be written.
    """
    path = _path(_folder_of(site, party), job_digest)
    with disk_errors_as_state_errors(f"the folder {path.parent} cannot be made"):
        # Folders above a new one get no mode of it: the party's state is for its owner alone as well.
        path.parent.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.parent.mkdir(exist_ok=True, mode=0o700)
    content = {"format": _FORMAT, "party": party, "job": job_digest.hex(), "name": job_name}
    replace_file(path, json.dumps(content, indent=1).encode() + b"\n")
    return path


def revoke(site: Site, party: str, job_digest: bytes) -> bool:
    """Take an approval back; False where there was none. Raises JobError, StateError."""
    path = _path(_folder_of(site, party), job_digest)
    with disk_errors_as_state_errors(f"{path} cannot be removed"):
        if not path.exists():
            return False
        path.unlink()
    return True


def has_approved(site: Site, party: str, job_digest: bytes) -> bool:
    """Whether the party's state holds its approval of exactly this job. Raises JobError, StateError."""
    path = _path(_folder_of(site, party), job_digest)
    with disk_errors_as_state_errors(f"{path} cannot be read"):
        if not path.exists():
            return False
    try:
        content = json.loads(read_file(path))
    except (ValueError, RecursionError):
        content = None
    expected = {"format": _FORMAT, "party": party, "job": job_digest.hex()}
    if not isinstance(content, dict) or any(content.get(key) != value for key, value in expected.items()):
        raise StateError(
            f"the approval {path} is damaged",
            expected=f"that {party} approves job {job_digest.hex()[:16]}...",
            got="something else",
            cure="remove the file, and approve the job again: hekat job approve",
        )
    return True


def approved_names(folder: Path) -> list[str]:
    """What a party's state folder has approved: the beginning of each digest, and the job's name."""
    found = []
    with disk_errors_as_state_errors(f"{folder / FOLDER} cannot be read"):
        for path in sorted((folder / FOLDER).glob("*.json")):
            try:
                name = json.loads(path.read_bytes()).get("name", "?")
            except (ValueError, RecursionError, AttributeError):
                name = "damaged"
            found.append(f"{path.stem[:16]} {name}")
    return found


def check_approved(site: Site, job_digest: bytes, parties: Iterable[str]) -> None:
    """Raise PolicyError unless all these parties have approved the job; nothing is written or sent before."""
    missing = [party for party in parties if not has_approved(site, party, job_digest)]
    if missing:
        raise PolicyError(
            "the job is not approved",
            expected=f"job {job_digest.hex()} approved by each party of this site",
            got=f"no approval of {', '.join(missing)}",
            cure="read what it asks for, compare its digest with the others by telephone, then: hekat job approve JOB",
        )


def _folder_of(site: Site, party: str) -> Path:
    held = site.parties.get(party)
    if held is None or held.state is None:
        raise JobError(
            f"{party} has no place for its approvals",
            expected=f"state under [{toml_key('party', party)}] of the site file",
            got="no such party" if held is None else "no state",
            cure=f'add state = "state/{party}" to [{toml_key("party", party)}]',
        )
    return held.state


def _path(state: Path, job_digest: bytes) -> Path:
    return state / FOLDER / f"{job_digest.hex()}.json"
