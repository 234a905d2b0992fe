"""One role of a job, loaded and checked at its own site, whatever carries its messages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hekat.engine.tenancy import declare_tenancy
from hekat.errors import InputError
from hekat.job.averaging.job_file import AveragingJob
from hekat.job.horizontal.job_file import Job
from hekat.job.horizontal_trees.job_file import RowTreesJob
from hekat.job.job_head import read_head
from hekat.job.load_any_job import AnyJob, check_is_played, check_role_may_run
from hekat.job.site_file import Site
from hekat.launch.rows.rehearsed_dropouts import check_dropouts
from hekat.run.encrypted_model.load_inputs import load_encrypted_model_inputs
from hekat.run.encrypted_model.role_run import load_stopped_role, run_encrypted_model_role
from hekat.run.horizontal.found_categories import settle_as_before
from hekat.run.horizontal.load_inputs import HorizontalInputs, load_inputs
from hekat.run.horizontal.resume import load_stopped
from hekat.run.horizontal.role_run import run_horizontal_role
from hekat.run.horizontal_trees.load_inputs import load_row_trees_inputs
from hekat.run.horizontal_trees.role_run import load_stopped_trees, run_row_trees_role
from hekat.run.own_keys import OwnKeys, find_own_keys
from hekat.run.psi.load_inputs import load_intersection_inputs
from hekat.run.psi.role_run import run_intersection_role
from hekat.run.role_folder import Place
from hekat.run.rows.kept_rows import check_rows_kept
from hekat.run.rows.upload_states import check_upload_states, has_all_rows
from hekat.run.vertical.resume import load_stopped_part
from hekat.run.vertical_linear.epochs import EPOCHS
from hekat.run.vertical_linear.load_inputs import load_vertical_inputs
from hekat.run.vertical_linear.role_run import run_vertical_role
from hekat.run.vertical_network.epochs import NETWORK_EPOCHS
from hekat.run.vertical_network.load_inputs import load_network_inputs
from hekat.run.vertical_network.role_run import run_network_role
from hekat.run.vertical_trees.iterations import ITERATIONS
from hekat.run.vertical_trees.load_inputs import load_trees_inputs
from hekat.run.vertical_trees.role_run import run_trees_role


@dataclass(frozen=True)
class RoleFiles:
    """Where a role finds what it needs, and where it writes.

    `site` None: site.toml beside the job. `runs` is the folder in which the run's own folder is made. `keys` is a
    folder with a key for each run, for a job that names no party keys. `ask_passphrase` opens a protected key file.
    `resume` is the folder of the role's own stopped run.
    """

    job: Path
    site: Path | None
    runs: Path
    ask_passphrase: Callable[[], bytes]
    keys: Path | None = None
    resume: Path | None = None


@dataclass(frozen=True)
class LoadedRole:
    """A role whose files are read and whose job its site allows; nothing is written or sent before `play`.

    `horizontal` is what was loaded for a role of a horizontal job.
    """

    role: str
    job: AnyJob
    site: Site
    keys: OwnKeys = field(repr=False)
    _play: Callable[[Place], Mapping[str, Any]] = field(repr=False)
    horizontal: HorizontalInputs | None = field(default=None, repr=False)

    @contextmanager
    def tenancy(self) -> Iterator[None]:
        """A block in which the engine knows whose machine this is; the role is played within it."""
        with declare_tenancy(self.site.machine.single_tenant):
            yield

    def play(self, place: Place) -> Mapping[str, Any]:
        """Play the role to its end; returns the summary of what it knows. Raises what the role raises."""
        return self._play(place)


def load_role(files: RoleFiles, role: str, *, dropouts: Mapping[str, int] | None = None) -> LoadedRole:
    """Load what `role` needs, and check it against job and site.

    `dropouts` are rounds or iterations in which parties that hold rows leave, to see the others go on; a role takes
    its own. Raises a HekatError that names the file, key or party, what was expected and the cure.
    """
    protocol = read_head(files.job).protocol
    check_is_played(protocol)
    if protocol == "horizontal":
        return _load_horizontal(files, role, dropouts or {})
    if protocol == "horizontal_trees":
        return _load_row_trees(files, role, dropouts or {})
    if protocol == "encrypted_model":
        return _load_encrypted_model(files, role)
    if protocol == "vertical_linear":
        vertical = load_vertical_inputs(files.job, files.site, files.ask_passphrase, role=role)
        keys = find_own_keys(vertical.job, role, vertical.party_keys, files.keys)
        check_role_may_run(vertical.site, vertical.job, role)
        stopped = None if files.resume is None else load_stopped_part(EPOCHS, files.resume, vertical.job, role)
        return LoadedRole(
            role, vertical.job, vertical.site, keys, lambda place: run_vertical_role(vertical, place, stopped)
        )
    if protocol == "vertical_trees":
        return _load_trees(files, role)
    if protocol == "vertical_network":
        return _load_network(files, role)
    if files.resume is not None:
        raise InputError(
            "a set intersection has nothing to resume",
            expected="a job that trains",
            got=f"protocol '{protocol}'",
            cure="begin a new run",
        )
    ids = load_intersection_inputs(files.job, files.site, role=role)
    keys = find_own_keys(ids.job, role, ids.party_keys, files.keys)
    check_role_may_run(ids.site, ids.job, role)
    return LoadedRole(role, ids.job, ids.site, keys, lambda place: run_intersection_role(ids, place))


def _load_row_trees(files: RoleFiles, role: str, dropouts: Mapping[str, int]) -> LoadedRole:
    inputs = load_row_trees_inputs(files.job, files.site, files.ask_passphrase, role=role)
    # A launcher on one machine gives keys in a folder; its site file has to show that it plays every party.
    inputs = replace(inputs, launched_together=files.keys is not None and has_all_rows(inputs.site, inputs.job))
    if files.resume is not None:
        check_rows_kept(files.resume, inputs.tables)
    stopped = None if files.resume is None else load_stopped_trees(files.resume, inputs, role)
    done = 0 if stopped is None else stopped.iterations_done
    check_dropouts(inputs.job.settings, dropouts, done)
    keys = find_own_keys(inputs.job, role, inputs.party_keys, files.keys)
    check_role_may_run(inputs.site, inputs.job, role)
    check_upload_states(inputs, files.resume, files.runs, done)

    def play(place: Place) -> Mapping[str, Any]:
        return run_row_trees_role(inputs, place, dropout_iteration=dropouts.get(role), stopped=stopped)

    return LoadedRole(role, inputs.job, inputs.site, keys, play)


def _load_encrypted_model(files: RoleFiles, role: str) -> LoadedRole:
    inputs = load_encrypted_model_inputs(files.job, files.site, files.ask_passphrase, role=role)
    keys = find_own_keys(inputs.job, role, inputs.party_keys, files.keys)
    check_role_may_run(inputs.site, inputs.job, role)
    stopped = None if files.resume is None else load_stopped_role(files.resume, inputs, role)
    return LoadedRole(
        role, inputs.job, inputs.site, keys, lambda place: run_encrypted_model_role(inputs, place, stopped)
    )


def _load_trees(files: RoleFiles, role: str) -> LoadedRole:
    inputs = load_trees_inputs(files.job, files.site, files.ask_passphrase, role=role)
    keys = find_own_keys(inputs.job, role, inputs.party_keys, files.keys)
    check_role_may_run(inputs.site, inputs.job, role)
    stopped = None if files.resume is None else load_stopped_part(ITERATIONS, files.resume, inputs.job, role)
    return LoadedRole(role, inputs.job, inputs.site, keys, lambda place: run_trees_role(inputs, place, stopped))


def _load_network(files: RoleFiles, role: str) -> LoadedRole:
    inputs = load_network_inputs(files.job, files.site, role=role)
    keys = find_own_keys(inputs.job, role, inputs.party_keys, files.keys)
    check_role_may_run(inputs.site, inputs.job, role)
    stopped = None if files.resume is None else load_stopped_part(NETWORK_EPOCHS, files.resume, inputs.job, role)
    return LoadedRole(role, inputs.job, inputs.site, keys, lambda place: run_network_role(inputs, place, stopped))


def _load_horizontal(files: RoleFiles, role: str, dropouts: Mapping[str, int]) -> LoadedRole:
    inputs = load_inputs(files.job, files.site, files.ask_passphrase, role=role)
    # A launcher on one machine gives keys in a folder; its site file has to show that it plays every party.
    is_together = files.keys is not None and has_all_rows(inputs.site, inputs.job)
    inputs = replace(inputs, launched_together=is_together)
    if files.resume is not None:
        inputs = settle_as_before(files.resume, inputs)
        check_rows_kept(files.resume, inputs.tables)
    stopped = None if files.resume is None else load_stopped(files.resume, inputs, role)
    check_dropouts(inputs.job.settings, dropouts, 0 if stopped is None else stopped.rounds_done)
    keys = find_own_keys(inputs.job, role, inputs.party_keys, files.keys)
    check_role_may_run(inputs.site, inputs.job, role)
    check_upload_states(inputs, files.resume, files.runs, 0 if stopped is None else stopped.rounds_done)

    def play(place: Place) -> Mapping[str, Any]:
        return run_horizontal_role(inputs, place, dropout_round=dropouts.get(role), stopped=stopped)

    return LoadedRole(role, inputs.job, inputs.site, keys, play, inputs)


def roles_that_may_be_lost(job: AnyJob) -> Collection[str]:
    """The roles that the job's protocol goes on without."""
    return (
        job.settings.parties
        if isinstance(job, (Job, RowTreesJob, AveragingJob)) and job.settings.bears_dropouts
        else ()
    )
