"""What a run found, as the plain tables of summary.json; every figure comes from the run itself."""

from __future__ import annotations

import platform
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from hekat.data import Table
from hekat.engine.select import get_engine
from hekat.engine.tenancy import PLAIN_TABLES
from hekat.job.federation import Federation
from hekat.job.job_file import Job
from hekat.job.prepare import Prepared
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.training import RoundRecord, TrainingState

SUMMARY_FORMAT = 1
_METRIC_ORDER = ("accuracy", "log_loss", "auc", "rmse", "r2")


@dataclass
class Finished:
    """One finished federation with its rounds as the leader saw them; metrics are those of the common test set."""

    federation: Federation
    state: TrainingState
    records: list[RoundRecord] = field(default_factory=list)
    metrics: list[dict[str, float]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return "plain" if self.federation.settings.protection == "none" else "encrypted"


def summarise(
    prepared: Prepared,
    run_id: str,
    alone: Mapping[str, dict[str, float]],
    plain: Finished | None,
    main: Finished,
    aggregator_saw: list[str],
) -> dict[str, Any]:
    """The whole of summary.json."""
    job, settings = prepared.job, prepared.job.settings
    task = "classification" if settings.classes is not None else "regression"
    finished = [run for run in (plain, main) if run is not None]
    return {
        "format": SUMMARY_FORMAT,
        "run_id": run_id,
        "job": job.name,
        "job_digest": job.digest.hex(),
        "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": _versions(),
        "machine": {"cpu": _cpu_name(), "cores": _core_count(), "platform": platform.platform()},
        "engine": {"name": get_engine().name, **get_engine().describe()},
        "settings": _describe_settings(settings),
        "parties": [_describe_party(name, table, settings) for name, table in prepared.tables.items()],
        "test_rows": None if prepared.test_table is None else len(prepared.test_table),
        "task": task,
        "results": _results(alone, finished),
        "difference": _difference(plain, main),
        "convergence_bias": _convergence_bias(plain, main),
        "rounds": {run.name: _rounds(run) for run in finished},
        **_times(plain, main),
        "bytes": _bytes(main, settings),
        "packing": None if main.federation.packing is None else asdict(main.federation.packing),
        "clipped": _clipped(main),
        "exactness": [asdict(check) for check in main.federation.witness.checks] if main.federation.witness else [],
        "aggregator_saw": aggregator_saw,
        "notes": _notes(job, main),
    }


def _versions() -> dict[str, str]:
    names = ("hekat", "numpy", "cryptography", "gmpy2", "scikit-learn")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def _core_count() -> int:
    import os

    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else (os.cpu_count() or 1)


def _describe_settings(settings: HorizontalSettings) -> dict[str, Any]:
    training, codec = settings.training, settings.codec
    return {
        "algorithm": training.algorithm,
        "rounds": training.round_count,
        "local_epochs": training.local_epochs,
        "batch_rows": training.batch_rows,
        "learning_rate": training.learning_rate,
        "optimiser": training.optimiser,
        "standardise": training.standardise,
        "model": settings.model.name,
        "hidden": list(settings.model.hidden),
        "l2": settings.model.l2,
        "value_bits": codec.value_bits,
        "layout": codec.layout,
        "rounding": codec.rounding,
        "clipping": codec.clipping,
        "protection": settings.protection,
        "key_bits": settings.key_bits,
        "weight_max": settings.weight_max,
        "aggregator": settings.aggregator,
        "leader": settings.leader,
        "classes": None if settings.classes is None else list(settings.classes),
    }


def _describe_party(name: str, table: Table, settings: HorizontalSettings) -> dict[str, Any]:
    class_rows = None
    if settings.classes is not None and table.labels is not None:
        counts = Counter(table.labels.tolist())
        class_rows = {label: counts.get(number, 0) for number, label in enumerate(settings.classes)}
    return {"name": name, "rows": len(table), "class_rows": class_rows}


def _results(alone: Mapping[str, dict[str, float]], finished: list[Finished]) -> list[dict[str, Any]]:
    rows = [{"name": f"{party} alone", "kind": "alone", "metrics": metrics} for party, metrics in alone.items()]
    for run in finished:
        metrics = run.metrics[-1] if run.metrics else {}
        rows.append({"name": f"{run.name} federated", "kind": run.name, "metrics": metrics})
    return rows


def _difference(plain: Finished | None, main: Finished) -> dict[str, float] | None:
    if plain is None or not plain.metrics or not main.metrics:
        return None
    names = [name for name in _METRIC_ORDER if name in plain.metrics[-1] and name in main.metrics[-1]]
    return {name: main.metrics[-1][name] - plain.metrics[-1][name] for name in names}


def _convergence_bias(plain: Finished | None, main: Finished) -> float | None:
    """|L - L_enc| / L of the final training loss: FLBooster (ICDE 2023), Eq. 15."""
    if plain is None or not plain.state.losses or plain.state.losses[-1] == 0:
        return None
    return abs(plain.state.losses[-1] - main.state.losses[-1]) / plain.state.losses[-1]


def _rounds(run: Finished) -> list[dict[str, Any]]:
    metrics = run.metrics or [{}] * len(run.records)
    return [
        {
            "round": record.round,
            "loss": record.loss,
            "clipped": record.clipped_count,
            "values": record.value_count,
            "metrics": found,
        }
        for record, found in zip(run.records, metrics, strict=True)
    ]


def _times(plain: Finished | None, main: Finished) -> dict[str, Any]:
    by_role = {name: dict(watch.seconds) for name, watch in main.federation.stopwatches.items()}
    by_step: dict[str, float] = {}
    for seconds in by_role.values():
        for step, value in seconds.items():
            by_step[step] = by_step.get(step, 0.0) + value
    key_seconds = by_step.get("keys", 0.0)
    plain_seconds = None if plain is None else plain.federation.seconds
    encrypted = main.federation.seconds
    ratio = (encrypted - key_seconds) / plain_seconds if plain_seconds else None
    return {
        "seconds": {main.name: encrypted, "plain": plain_seconds or (encrypted if main.name == "plain" else None)}
        | {"key": key_seconds, "ratio": ratio if main.name == "encrypted" else None},
        "seconds_by_step": by_step,
        "seconds_by_role": by_role,
    }


def _bytes(main: Finished, settings: HorizontalSettings) -> dict[str, Any]:
    federation = main.federation
    value_count = int(sum(np.asarray(values).size for values in main.state.parameters.values()))
    update, answer = federation.update_traffic
    return {
        "by_role": {
            name: {"sent": traffic.sent_bytes, "received": traffic.received_bytes}
            for name, traffic in federation.traffic.items()
        },
        "update_values": value_count,
        "float32_per_update": 4 * value_count,
        "update_sealed": update,
        "sum_sealed": answer,
        "ratio_to_float32": update / (4 * value_count),
        "ciphertext_bytes": settings.key_bits // 4 if settings.protection == "paillier" else None,
    }


def _clipped(main: Finished) -> dict[str, int] | None:
    if main.federation.settings.protection == "none":
        return None
    return {
        "count": sum(record.clipped_count for record in main.records),
        "of": sum(record.value_count for record in main.records),
    }


def _notes(job: Job, main: Finished) -> list[str]:
    settings = job.settings
    notes = []
    if settings.protection == "none":
        notes.append("protection is NONE: the aggregator saw every party's update in the clear")
    else:
        notes.append(
            "all parties share one Paillier private key: a party that obtains another's ciphertext can open it, "
            "so parties trust each other not to work with the aggregator"
        )
        if get_engine().single_tenant:
            notes.append(
                f"randomiser tables: {PLAIN_TABLES}; this machine's owner says that nobody else's code runs on it"
            )
        if settings.key_bits < 3072:
            notes.append(f"a {settings.key_bits}-bit key gives about 112-bit security; 3072 bits give 128")
    if job.compare_plain and settings.protection != "none":
        notes.append("the plain comparison sent updates unencrypted, inside this process only, by the site's leave")
    if main.federation.witness is not None:
        notes.append("float updates of all parties were compared inside this process to check the stated bound")
    resumed = main.federation.resume_from
    if resumed is not None:
        notes.append(
            f"resumed after round {resumed.rounds_done}: rounds, seconds, bytes and clipped values of the {main.name} "
            "run are those of the rounds after it"
        )
    if len(settings.parties) == 2:
        notes.append("with two parties each learns the other's update from every sum")
    notes.append("roles took turns at the measured steps, so each figure is that of a machine to itself")
    return notes
