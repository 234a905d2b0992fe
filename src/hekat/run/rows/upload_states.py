"""The places of upload numbers and release records: in a folder of the role's site, or with the run where that is
enough.

Records that lie with the run forget at its end: a second run of the same job begins with empty ones, and opens a sum
without a party that was in the first. Where one process plays every party it holds every update anyway, so they may lie
there, and the run says so; anywhere else a site names a folder outside of all runs.

A resumed run goes on with the states of the run before it, in place: a copy could be resumed twice, and would not
know what was released in between.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from hekat.channel.canonical import encode_fields
from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import JobError, PolicyError, StateError
from hekat.job.policy.enforce import AskingJob, enforce
from hekat.job.policy.policy_check import PolicyCheck
from hekat.job.rows.rows_job import RowsJob, RowsSettings
from hekat.job.site_file import Site
from hekat.protocol.secure_sum.masked.opening.release_record import RowsInJob
from hekat.protocol.secure_sum.masked.upload_state import (
    RELEASES_FILE,
    UPLOADS_FILE,
    UploadState,
    check_not_emptied,
    check_same_rows,
    check_upload_state,
    open_upload_state,
)
from hekat.protocol.secure_sum.participation import Participation
from hekat.protocol.secure_sum.sum_plan import samples_ahead
from hekat.run.rows.inputs import RowsInputs
from hekat.run.run_events import EVENTS_FILE
from hekat.state import Counter, is_run_id
from hekat.toml_text import toml_key

STATE_FOLDER = "state"
_NO_ROWS_LABEL = b"hekat/rows/none/1"


def may_lie_with_run(inputs: RowsInputs) -> bool:
    """Whether records may lie with the run: only where this one process plays every party of a job that names no keys.

    A job with keys belongs to several organisations, whose records outlive a run on one machine.
    """
    plays_all = inputs.launched_together or set(inputs.job.settings.parties) <= inputs.tables.keys()
    return not inputs.job.party_keys and plays_all


def has_all_rows(site: Site, job: RowsJob) -> bool:
    """Whether this site file has the rows of every party of the job, so that its owner holds every update anyway."""
    return all(name in site.parties and job.data in site.parties[name].data for name in job.settings.parties)


def roles_without_own_folder(inputs: RowsInputs) -> tuple[str, ...]:
    """The roles whose site names no folder, so that the run's own serves; none unless protection is `lattice`."""
    return tuple(role for role in _roles(inputs.job.settings, inputs.roles) if _own_folder(inputs, role) is None)


def check_upload_states(
    inputs: RowsInputs,
    resumed_folder: Path | None,
    runs: Path | None = None,
    rounds_done: int = 0,
    *,
    is_rehearsal: bool = False,
) -> None:
    """Raise JobError, PolicyError or StateError where a role has no place for what it keeps, where that cannot be used,
    or where it forbids this job, which the ledger of refusals keeps unless `is_rehearsal`; to be called before anything
    else is written. `runs` is where run folders are made.

    A run that is resumed needs the whole state of the run before it. Without it, one update could be opened in two
    sums whose difference is another party's update. It also needs the rows of that run. Raises as
    `RowsInputs.check_budgets` too.
    """
    job = inputs.job
    plan = inputs.plan_sums(rounds_done)
    samples = samples_ahead(plan, Participation(job.settings.sums, job.digest))
    refusals: dict[str, PolicyError] = {}
    for role in _roles(job.settings, inputs.roles):
        own = _own_folder(inputs, role)
        if own is not None:
            check_outlasts_runs(role, own, runs)
        elif not may_lie_with_run(inputs):
            raise _no_folder(role)
        elif resumed_folder is None:
            continue
        folder = own if own is not None else Path(resumed_folder or "") / STATE_FOLDER / role
        if is_whole(role, folder, resumed_folder):
            try:
                check_upload_state(folder, job.digest, _rows_of(inputs, role), samples)
            except PolicyError as error:
                refusals[role] = error
            if resumed_folder is not None and role in inputs.tables:
                check_same_rows(folder, job.digest, _rows_of(inputs, role), plan.groups)
    if refusals:
        asking = AskingJob(job.name, job.digest, tuple(refusals), is_rehearsal)
        enforce(inputs.site, asking, [_check_of_records(refusals)])
    inputs.check_budgets(rounds_done)


def _check_of_records(refusals: Mapping[str, PolicyError]) -> PolicyCheck:
    def refuse() -> None:
        raise _refusal_of_all(refusals)

    return PolicyCheck(
        "[party.NAME] other_sums", "sums over these rows", "what the records of earlier jobs on them allow", refuse
    )


def _refusal_of_all(refusals: Mapping[str, PolicyError]) -> PolicyError:
    """One error that names every role whose record refuses the job, so that a single run finds them all."""
    (_, first), *others = refusals.items()
    if not others:
        return first
    tables = ", ".join(f"[{toml_key('party', role, 'other_sums')}]" for role, _ in others)
    return PolicyError(
        f"the records of {', '.join(refusals)} refuse this job",
        expected=first.expected,
        got="; ".join(f"{error.what}: {error.got}" for error in refusals.values()),
        cure=f"{first.cure}; the same line under {tables}",
    )


def is_whole(role: str, folder: Path, resumed_folder: Path | None) -> bool:
    """Whether there is a state; False where it is still to be made. Raises StateError where a part is missing."""
    with disk_errors_as_state_errors(f"the state in {folder} cannot be read"):
        missing = [name for name in (UPLOADS_FILE, RELEASES_FILE) if not (folder / name).is_file()]
    if resumed_folder is None and len(missing) == 2 and (folder.is_dir() or not folder.exists()):
        check_not_emptied(folder)
        return False  # a party's first run
    # A counter at 0 says that there never was a record: its making was cut short.
    if not missing or (resumed_folder is None and missing == [RELEASES_FILE] and not _is_used(folder)):
        check_not_emptied(folder)
        return not missing
    with_run = Path(resumed_folder or "") / STATE_FOLDER / role
    moved = f"; this run's is in {with_run}: move it there" if resumed_folder and _has_state(with_run) else ""
    raise StateError(
        f"the state of {role} is not whole",
        expected=f"{UPLOADS_FILE} and {RELEASES_FILE} in {folder}",
        got=f"no {' and no '.join(missing)}",
        cure=f"put the folder back as the last run left it{moved}; without it nobody knows what was opened",
    )


def _has_state(folder: Path) -> bool:
    return (folder / UPLOADS_FILE).is_file() and (folder / RELEASES_FILE).is_file()


def _is_used(folder: Path) -> bool:
    with Counter.open(folder / UPLOADS_FILE) as uploads:
        return uploads.next_value > 0


def _no_folder(role: str) -> JobError:
    return JobError(
        f"the site file names no state folder for {role}",
        expected="a folder outside all run folders, for upload numbers and records of opened sums",
        got="none, in a job whose roles do not all run in this process",
        cure=f'add to [{toml_key("party", role)}] of the site file: state = "state/{role}"',
    )


def check_outlasts_runs(role: str, folder: Path, runs: Path | None) -> None:
    """Raise JobError where the folder lies in one of run folders, which are thrown away, or is itself one."""
    with disk_errors_as_state_errors(f"the state in {folder} cannot be read"):
        place = folder.resolve()
        for above in (place, *place.parents):
            is_run = is_run_id(above.name) or (above / EVENTS_FILE).is_file()
            if is_run or (runs is not None and above == runs.resolve()):
                raise JobError(
                    f"the state folder of {role} lies among runs",
                    expected="a folder that outlasts every run: another run would know nothing of what this one opened "
                    "or kept",
                    got=f"{folder}, in {above}",
                    cure=f'change {toml_key("party", role, "state")} in the site file, such as to "state/{role}", and '
                    "move what is there already",
                )


def keep_states_in(run_folder: Path, resumed_folder: Path | None) -> None:
    """Make the run's own folder of states, or link it to the resumed run's folder. Raises StateError."""
    folder = run_folder / STATE_FOLDER
    with disk_errors_as_state_errors(f"{folder} could not be made"):
        if resumed_folder is None:
            folder.mkdir(mode=0o700)
        else:
            folder.symlink_to((resumed_folder / STATE_FOLDER).resolve(), target_is_directory=True)


@contextmanager
def open_states(inputs: RowsInputs, settings: RowsSettings, run_folder: Path) -> Iterator[dict[str, UploadState]]:
    """Every role's open state, closed at the end; none where `settings`, the job's or a comparison's, need none.

    Raises StateError where one is damaged or open elsewhere.
    """

    def open_one(role: str) -> UploadState:
        own = _own_folder(inputs, role)
        folder = run_folder / STATE_FOLDER / role if own is None else own
        return open_upload_state(folder, inputs.job.digest, _rows_of(inputs, role), with_run=own is None)

    with _open_all(_roles(settings, inputs.roles), open_one) as states:
        yield states


@contextmanager
def open_passing_states(inputs: RowsInputs, settings: RowsSettings) -> Iterator[dict[str, UploadState]]:
    """New, temporary states for a comparison inside this process: nobody else ever sees its sums."""
    with disk_errors_as_state_errors("no folder for the states of a comparison can be made"):
        folder = tempfile.TemporaryDirectory(prefix="hekat-compare-")
    with (
        folder as path,
        _open_all(_roles(settings), lambda role: open_upload_state(Path(path) / role, inputs.job.digest)) as states,
    ):
        yield states


@contextmanager
def _open_all(roles: Sequence[str], open_one: Callable[[str], UploadState]) -> Iterator[dict[str, UploadState]]:
    with ExitStack() as stack:
        states = {}
        for role in roles:
            states[role] = open_one(role)
            stack.enter_context(states[role].uploads)
        yield states


def _rows_of(inputs: RowsInputs, role: str) -> RowsInJob:
    """The identity of this job's rows in the role's record, for other jobs."""
    site, table = inputs.site.parties.get(role), inputs.tables.get(role)
    identities = identities_of(inputs.job)
    accepted = site is not None and inputs.job.digest in site.other_sums
    if table is None:
        return RowsInJob(role, _no_rows_digest(inputs.job, identities), identities, accepted)
    assert table.rows_digest is not None  # asked for under this protection
    return RowsInJob(role, table.rows_digest, identities, accepted)


def identities_of(job: RowsJob) -> dict[str, str]:
    """By name, each party's identity across jobs: its key, or its name where the job has no keys."""
    keys = job.party_keys
    return {name: keys[name].text if keys else name for name in job.settings.parties}


def _no_rows_digest(job: RowsJob, identities: Mapping[str, str]) -> bytes:
    """In the place of rows, for an authority that has none: the parties and what the job calls their rows."""
    fields = (job.data, *sorted(identities.values()))
    return hashlib.sha256(encode_fields(_NO_ROWS_LABEL, *(field.encode() for field in fields))).digest()


def _roles(settings: RowsSettings, here: Sequence[str] = ()) -> tuple[str, ...]:
    """All roles but the aggregator, which uses no numbers and opens nothing; only those `here` if it names any."""
    if settings.protection != "lattice":
        return ()
    return tuple(name for name in settings.everyone if name != settings.aggregator and (not here or name in here))


def _own_folder(inputs: RowsInputs, role: str) -> Path | None:
    site = inputs.site.parties.get(role)
    return None if site is None else site.state
