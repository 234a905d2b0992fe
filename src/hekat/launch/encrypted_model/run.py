"""A training on an encrypted model as a run: all roles in this process, and what the run leaves behind in a folder.

events.jsonl        what happened, line by line
ledger/             every role's signed ledger
checkpoints/        each role's own state of the last rounds, mode 600
model.npz           the model that the owner was given
kept/               what hosts, arbiter and aggregator each keep for joint scores, mode 600
rows/               which rows each host trained on, to recognise them
parties.json        the public keys that ledgers are audited by
summary.json        `summary_shape.EncryptedModelSummary`
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from hekat.disk_errors import disk_errors_as_state_errors
from hekat.engine.tenancy import declare_tenancy
from hekat.errors import PartyStoppedError, StateError
from hekat.job.encrypted_model.job_file import PROTOCOL
from hekat.job.encrypted_model.key_makers import key_makers
from hekat.job.load_any_job import check_may_run, roles_of
from hekat.launch.local.role_folders import RoleFolders
from hekat.launch.run_result import RunResult
from hekat.launch.vertical.session import ON_ONE_MACHINE
from hekat.ledger.ledger_files import pack_ledgers
from hekat.protocol.encrypted_model.party_run import ShareState
from hekat.protocol.encrypted_model.timing_labels import KEYS
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.role_session import LEDGER_FOLDER, RoleSession
from hekat.run.encrypted_model.checkpoint_files import load_common_states
from hekat.run.encrypted_model.folder_observer import FolderObserver
from hekat.run.encrypted_model.load_inputs import EncryptedModelInputs
from hekat.run.encrypted_model.role import EncryptedModelContext, EncryptedModelRole
from hekat.run.progress import Progress, Silence
from hekat.run.rows.kept_rows import check_rows_kept, keep_rows
from hekat.run.run_events import logged_run
from hekat.run.session_keys import session_keys, write_public_keys
from hekat.run.timeout_hint import name_timeout_key
from hekat.scheme.paillier import KeyPair, generate_keys
from hekat.state import EventLog, RunDirectory, create_run_directory
from hekat.summary.encrypted_model.finished_run import FinishedEncryptedModelRun
from hekat.summary.encrypted_model.summary import summarise_encrypted_model
from hekat.summary.party_views import views_of_parties
from hekat.summary.summary_format import SUMMARY_FILE, write_summary


def run_encrypted_model_job(
    inputs: EncryptedModelInputs, root: Path, progress: Progress | None = None, *, resume_from: Path | None = None
) -> RunResult:
    """Run a loaded job on this machine; everything it writes lies in a new folder under `root`.

    `resume_from` is the folder of an earlier run of the same job: training goes on from the last round that every role
    saved, in a new session and a new folder. Raises PartyStoppedError where a role failed, with what was saved;
    StateError where the disk takes no files. Before anything is written: StateError where there is nothing to resume or
    a host has other rows; PolicyError for a job with party keys that not all roles here approved; EngineError where
    another run in this process says the opposite of the machine's tenancy.
    """
    job = inputs.job
    check_may_run(inputs.site, job)
    with declare_tenancy(inputs.site.machine.single_tenant):
        resumed = {} if resume_from is None else _load_stopped(resume_from, inputs)
        directory = create_run_directory(root)
        with logged_run(directory, job.name, job.settings.everyone, PROTOCOL) as events:
            shown = progress or Silence()
            shown.open_folder(directory.path)
            run = _Run(inputs, directory, events, shown)
            if resume_from is not None:
                done = resumed[job.settings.owner].rounds_done
                events.write("resumed", run=str(resume_from), rounds_done=done)
            return run.play(resumed)


def _load_stopped(folder: Path, inputs: EncryptedModelInputs) -> dict[str, ShareState]:
    """Every role's state of a stopped run. Raises StateError where there is none, or the run is finished."""
    if (folder / SUMMARY_FILE).exists():
        raise StateError(
            f"the run in {folder} is finished",
            expected="a run that stopped before its end",
            got=f"a {SUMMARY_FILE}",
            cure="begin a new run, with more training.rounds in the job if you want more",
        )
    RoleFolders(folder, roles_of(inputs.job)).recover()
    check_rows_kept(folder, inputs.tables)
    return load_common_states(folder, inputs.job)


@dataclass
class _Run:
    inputs: EncryptedModelInputs
    directory: RunDirectory
    events: EventLog
    progress: Progress

    def play(self, resumed: Mapping[str, ShareState]) -> RunResult:
        job, settings, folder = self.inputs.job, self.inputs.job.settings, self.directory.path
        with disk_errors_as_state_errors(f"{folder / LEDGER_FOLDER} could not be made"):
            (folder / LEDGER_FOLDER).mkdir()
        observer = FolderObserver(folder, job, settings.owner, self.events, self.progress)
        for role, state in resumed.items():
            observer.save(role, state)
        keep_rows(folder, self.inputs.tables)
        keys = session_keys(self.inputs.party_keys, settings.everyone)
        public = write_public_keys(folder, keys)
        sessions = make_sessions(
            keys,
            run_id=self.directory.run_id,
            protocol=PROTOCOL,
            job_digest=job.digest,
            ledger_folder=folder / LEDGER_FOLDER,
            public_keys=job.party_keys,
        )
        for name, session in sessions.items():
            self.progress.watch(name, session)
        start = time.perf_counter()
        key_pairs = _key_pairs(self.inputs, sessions, self.progress)
        observer.begin(settings.training.rounds - min((one.rounds_done for one in resumed.values()), default=0))
        roles = {
            name: EncryptedModelRole(
                EncryptedModelContext(
                    self.inputs, name, session, observer, key_pairs.get(name), resumed=resumed.get(name)
                )
            )
            for name, session in sessions.items()
        }
        try:
            play_in_process({name: role.play for name, role in roles.items()}, timeout_s=job.timeout_s)
        except PartyStoppedError as error:
            saved = error.with_saved(observer.saved(settings.everyone))
            raise saved from name_timeout_key(error.__cause__, job.timeout_s)
        results = {name: role.result for name, role in roles.items()}
        run = FinishedEncryptedModelRun(job, results, time.perf_counter() - start)
        summary = summarise_encrypted_model(
            run,
            self.directory.run_id,
            views=views_of_parties(folder, public),
            more_caveats=[ON_ONE_MACHINE],
        )
        write_summary(folder, cast(dict[str, Any], summary))
        pack_ledgers(folder / LEDGER_FOLDER)
        self.events.write("finished", rounds=len(run.rounds), seconds=run.seconds)
        return RunResult(folder, cast(dict[str, Any], summary))


def _key_pairs(
    inputs: EncryptedModelInputs, sessions: Mapping[str, RoleSession], progress: Progress
) -> dict[str, KeyPair]:
    """The Paillier key of each role that makes one, made in the caller's thread: Ctrl-C reaches only this thread."""
    pairs = dict(inputs.key_pairs)
    for name in key_makers(inputs.job):
        if name not in pairs:
            with sessions[name].stopwatch.measure(KEYS):
                pairs[name] = generate_keys(inputs.job.settings.key_bits, progress=progress.search_key)
    return pairs
