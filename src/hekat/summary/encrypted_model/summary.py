"""What a training on an encrypted model found, as the plain tables of summary.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from hekat.job.encrypted_model.job_file import PROTOCOL, EncryptedModelJob
from hekat.summary.convergence import Convergence, describe_convergence
from hekat.summary.encrypted_model.caveats import list_encrypted_model_caveats
from hekat.summary.encrypted_model.described_settings import describe_encrypted_model
from hekat.summary.encrypted_model.finished_run import FinishedEncryptedModelRun
from hekat.summary.encrypted_model.role_result import EncryptedModelResult, OwnedModel
from hekat.summary.encrypted_model.summary_shape import EncryptedModelSummary, Opened, Result, RoleFacts
from hekat.summary.party_views import PartyView
from hekat.summary.run_facts import Played, facts_of_run
from hekat.summary.vertical.summary_shape import Bytes, RoleBytes

IDLE = "idle"


def summarise_encrypted_model(
    run: FinishedEncryptedModelRun,
    run_id: str,
    *,
    views: Sequence[PartyView],
    more_caveats: Sequence[str] = (),
    played: Played = "in turn",
) -> EncryptedModelSummary:
    """The whole of summary.json, of the roles whose results are known here; what is not known is empty or None."""
    job, owned = run.job, run.owned
    measured = None if owned is None else owned.measured
    kind = "plain" if run.is_plain else "encrypted"
    own = Result(
        name="plain model" if run.is_plain else "encrypted model",
        kind="plain" if run.is_plain else "encrypted",
        metrics={} if owned is None else owned.metrics,
    )
    return EncryptedModelSummary(
        **facts_of_run(run_id, job.name, job.digest, played),
        protocol=PROTOCOL,
        settings=describe_encrypted_model(job),
        parties=[_describe_role(job, name, found) for name, found in run.results.items()],
        task="regression" if job.settings.classes is None else "classification",
        test_rows=None if measured is None else measured.rows,
        test_rows_trained_on=0 if measured is None else measured.trained_on,
        measured_on=None if owned is None else owned.measured_on,
        columns=_column_count(run),
        training_rows=_count_training_rows(run),
        results=[own],
        opened=[] if owned is None else [Opened(rounds_done=o.rounds_done, metrics=o.metrics) for o in owned.opened],
        rounds=run.rounds,
        convergence=_convergence(owned),
        seconds={"total": run.seconds, kind: run.seconds},
        seconds_by_role={name: _parts(found, run.seconds) for name, found in run.results.items()},
        bytes=_count_bytes(run.results),
        seen=list(views),
        notes=[*more_caveats, *list_encrypted_model_caveats(run)],
    )


def roles_of_name(job: EncryptedModelJob, name: str) -> list[str]:
    """What the role called `name` does: one or two of host, owner, arbiter, aggregator."""
    settings = job.settings
    known = {
        "host": name in settings.hosts,
        "owner": name == settings.owner,
        "arbiter": name == settings.arbiter,
        "aggregator": name == settings.aggregator,
    }
    return [role for role, is_it in known.items() if is_it]


def _describe_role(job: EncryptedModelJob, name: str, found: EncryptedModelResult) -> RoleFacts:
    table = found.table
    return RoleFacts(
        name=name,
        roles=roles_of_name(job, name),
        rows=None if table is None else table.rows,
        held_out=0 if table is None else table.held_out,
        columns=found.columns,
        class_rows=None if table is None else table.class_rows,
    )


def _column_count(run: FinishedEncryptedModelRun) -> int | None:
    """How many columns the model has; None where no role that knows them is known here."""
    if run.owned is not None:
        return run.owned.columns
    return next((found.columns for found in run.results.values() if found.columns is not None), None)


def _count_training_rows(run: FinishedEncryptedModelRun) -> int | None:
    """Over all hosts, as the owner was told, or as their tables say where all are known here."""
    if run.owned is not None:
        return run.owned.rows
    tables = [run.results[host].table for host in run.job.settings.hosts if host in run.results]
    if len(tables) < len(run.job.settings.hosts):
        return None
    return sum(table.rows - table.held_out for table in tables if table is not None)


def _convergence(owned: OwnedModel | None) -> Convergence | None:
    """By the size of the weights alone: nobody has the loss that training lowers, which is the Taylor form's."""
    return None if owned is None else describe_convergence([], largest_weight=owned.largest_weight)


def _parts(found: EncryptedModelResult, total: float) -> dict[str, float]:
    """Seconds by step, and how long the role waited."""
    return {**found.seconds_by_step, IDLE: max(0.0, total - sum(found.seconds_by_step.values()))}


def _count_bytes(results: Mapping[str, EncryptedModelResult]) -> Bytes:
    return Bytes(
        by_role={
            name: RoleBytes(
                sent=found.traffic.sent,
                received=found.traffic.received,
                by_step={kind: asdict(one) for kind, one in found.traffic.by_step.items()},
            )
            for name, found in results.items()
        },
        ciphertext_bytes=None,
    )
