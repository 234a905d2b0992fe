"""Where a site keeps upload numbers and the record of what was opened of a protected app's updates.

A job of Hekat knows its rows. What an app trains on Hekat does not see, so all apps of a site count as training on the
same rows: an app with other parties than an earlier one needs the word of the site's operator (other_sums).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hekat.channel.canonical import encode_fields
from hekat.errors import JobError
from hekat.job.averaging.job_file import AveragingJob
from hekat.job.policy.enforce import AskingJob, recorded
from hekat.job.site_file import Site
from hekat.protocol.secure_sum.masked.opening.release_record import RowsInJob
from hekat.protocol.secure_sum.masked.upload_state import UploadState, check_upload_state, open_upload_state
from hekat.protocol.secure_sum.participation import Participation
from hekat.protocol.secure_sum.sum_plan import SumPlan, samples_ahead
from hekat.run.rows.upload_states import STATE_FOLDER, check_outlasts_runs, is_whole
from hekat.toml_text import toml_key

_ROWS_OF_APPS = b"hekat/rows/app/1"


def plan_of(job: AveragingJob) -> SumPlan:
    """The sums of all rounds that the job allows."""
    groups = tuple(f"round-{number}" for number in range(1, job.round_count + 1))
    return SumPlan(groups, groups)


def check_state(site: Site, job: AveragingJob, party: str, runs: Path, *, is_together: bool) -> None:
    """Raise JobError, PolicyError or StateError where the party has no place for what it keeps, or its record forbids
    the job, which the ledger of refusals keeps; nothing else is written.

    `is_together`: one machine plays all sites, and knows all updates anyway.
    """
    folder = site.parties[party].state
    if folder is None:
        if is_together:
            return
        raise JobError(
            f"the site file names no state folder for {party}",
            expected="a folder outside all run folders, for upload numbers and records of opened sums",
            got="none",
            cure=f'add to [{toml_key("party", party)}] of the site file: state = "state/{party}"',
        )
    check_outlasts_runs(party, folder, runs)
    if not is_whole(party, folder, None):
        return
    samples = samples_ahead(plan_of(job), Participation(job.settings, job.digest))
    with recorded(site, AskingJob(job.name, job.digest, (party,)), "[party.NAME] other_sums"):
        check_upload_state(folder, job.digest, _rows_of(site, job, party), samples)


@contextmanager
def opened_state(site: Site, job: AveragingJob, party: str, run_folder: Path) -> Iterator[UploadState]:
    """The party's state, in its site's folder, else with the run. Raises StateError."""
    own = site.parties[party].state
    folder = run_folder / STATE_FOLDER / party if own is None else own
    state = open_upload_state(folder, job.digest, _rows_of(site, job, party), with_run=own is None)
    with state.uploads:
        yield state


def _rows_of(site: Site, job: AveragingJob, party: str) -> RowsInJob:
    keys = job.party_keys
    identities = {name: keys[name].text if keys else name for name in job.settings.parties}
    digest = hashlib.sha256(encode_fields(_ROWS_OF_APPS)).digest()
    return RowsInJob(party, digest, identities, job.digest in site.parties[party].other_sums)
