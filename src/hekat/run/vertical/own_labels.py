"""What a guest's site keeps of its labels for label privacy: the flips, and the name under which they are kept."""

from __future__ import annotations

from pathlib import Path

from hekat.errors import JobError
from hekat.job.site_file import Site, find_source
from hekat.job.vertical.columns_job import ColumnsJob
from hekat.protocol.vertical.label_privacy import LabelFlips, OwnLabels
from hekat.protocol.vertical.label_privacy.label_flips import LABEL_FLIPS_FILE
from hekat.run.rows.upload_states import check_outlasts_runs
from hekat.toml_text import toml_key


def check_keeps_flips(site: Site, job: ColumnsJob, runs: Path | None = None) -> None:
    """Raise JobError for label privacy at a guest whose site has no place to keep flips of labels that outlasts runs,
    which are made in the folder `runs`, or does not name what they answer: with new ones in each run, or under each
    name that a job gives, runs would add up."""
    guest = job.settings.guest
    held = site.parties.get(guest)
    if job.settings.label_privacy is not None and held is not None and held.state is not None:
        check_outlasts_runs(guest, held.state, runs)
    if job.settings.label_privacy is not None and (held is None or held.state is None):
        raise JobError(
            f"the site of {guest} has no place to keep which labels are replaced",
            expected=f"state under [{toml_key('party', guest)}]: every run on the same rows replaces the same labels",
            got="no such line",
            cure=f'add state = "state/{guest}" to the site file',
        )
    if job.settings.label_privacy is not None and find_source(site, guest, job.data).label_name is None:
        raise JobError(
            f"the site of {guest} does not name its labels",
            expected="a line label (a column) or label_name (an array) in its data source: labels of one name are "
            "replaced alike, whatever a job calls the data and wherever it lies",
            got="no such line",
            cure=f'add label_name = "NAME" under [{toml_key("party", guest, "data", job.data)}], the same wherever '
            "these labels lie",
        )


def own_labels_of(site: Site, job: ColumnsJob, role: str) -> OwnLabels | None:
    """What a guest with label privacy keeps of its labels; None at hosts and without label privacy. Raises StateError
    where the file is damaged or cannot be written."""
    if job.settings.label_privacy is None or role != job.settings.guest:
        return None
    check_keeps_flips(site, job)
    state = site.parties[role].state
    assert state is not None  # checked
    # Two columns of labels answer apart only under two names, which the site gives: a job could have any two.
    name = str(find_source(site, role, job.data).label_name)
    return OwnLabels(LabelFlips.open_or_create(state / LABEL_FLIPS_FILE, role), name)
