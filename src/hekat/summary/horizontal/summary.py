"""What a run found, as the plain tables of summary.json; every figure comes from the run itself."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from hekat.data import Table
from hekat.errors import PartyLostError
from hekat.launch.horizontal.federation import Federation
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.training.loop import RoundRecord, TrainingState
from hekat.protocol.horizontal.training.validation import hold_out
from hekat.protocol.secure_sum.cost.packing import Packing
from hekat.run.horizontal.load_inputs import HorizontalInputs
from hekat.scheme.lattice import choose_parameters
from hekat.summary.horizontal.aggregator_view import AggregatorView
from hekat.summary.horizontal.caveats import list_caveats
from hekat.summary.horizontal.clip_history import clip_history
from hekat.summary.horizontal.described_settings import describe_settings
from hekat.summary.horizontal.traffic import SumTraffic, Traffic
from hekat.summary.run_facts import facts_of_run

_ROUND = re.compile(r"round-(\d+)(?:/|$)")
_METRIC_ORDER = ("accuracy", "log_loss", "auc", "rmse", "r2")


@dataclass(frozen=True)
class TrainedAlone:
    """How good a model is that one party trained by itself: on the common test set, and on its own held-out rows."""

    metrics: dict[str, float]
    validation: dict[str, float]


@dataclass
class Finished:
    """One finished federation with its rounds as the leader saw them; metrics are those of the common test set.

    `final_metrics` are those of the model that training ended with, also where no round was played in this run.
    `releases` of Hekat trained what was resumed, in order.
    """

    federation: Federation
    state: TrainingState
    records: list[RoundRecord] = field(default_factory=list)
    metrics: list[dict[str, float]] = field(default_factory=list)
    final_metrics: dict[str, float] = field(default_factory=dict)
    releases: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return "plain" if self.federation.settings.protection == "none" else "encrypted"


def summarise(
    inputs: HorizontalInputs,
    run_id: str,
    alone: Mapping[str, TrainedAlone],
    plain: Finished | None,
    main: Finished,
    view: AggregatorView,
    compared: Sequence[Finished] = (),
) -> dict[str, Any]:
    """The whole of summary.json; `compared` are the same trained at other bits per value."""
    job, settings = inputs.job, inputs.job.settings
    task = "classification" if settings.classes is not None else "regression"
    finished = [run for run in (plain, main) if run is not None]
    return {
        **facts_of_run(run_id, job.name, job.digest),
        "settings": describe_settings(settings, main.federation.members),
        "parties": [_describe_party(name, table, settings) for name, table in inputs.tables.items()],
        "test_rows": None if inputs.test_table is None else len(inputs.test_table),
        "task": task,
        "results": _results(alone, finished),
        "difference": _difference(plain, main),
        "convergence_bias": _convergence_bias(plain, main),
        "compared_bits": _compared_bits(plain, main, compared),
        "rounds": {run.name: _rounds(run) for run in finished},
        **_times(plain, main),
        "bytes": _bytes(main, settings),
        "packing": None if main.federation.packing is None else asdict(main.federation.packing),
        "clipped": _clipped(main),
        "clipped_by_tensor": clip_history(main.records),
        "exactness": [asdict(check) for check in main.federation.exactness_check.checks]
        if main.federation.exactness_check
        else [],
        "lost": [_describe_dropout(error) for error in main.federation.lost],
        "included": [asdict(entry) for entry in view.included],
        "aggregator_saw": list(view.saw),
        "aggregator_saw_steps": list(view.steps),
        "notes": list_caveats(
            inputs,
            main.name,
            main.federation.resume_from,
            witnessed=main.federation.exactness_check is not None,
            not_compared=main.federation.not_compared,
            releases=main.releases,
            older_committee=main.federation.keeps_older_committee,
        ),
    }


def _describe_party(name: str, table: Table, settings: HorizontalSettings) -> dict[str, Any]:
    class_rows = None
    if settings.classes is not None and table.labels is not None:
        counts = Counter(table.labels.tolist())
        class_rows = {label: counts.get(number, 0) for number, label in enumerate(settings.classes)}
    _, held_out = hold_out(table, settings)
    return {
        "name": name,
        "rows": len(table),
        "held_out": 0 if held_out is None else len(held_out),
        "class_rows": class_rows,
    }


def _describe_dropout(error: PartyLostError) -> dict[str, Any]:
    """`round` is null for a loss before the first one."""
    found = _ROUND.match(error.step)
    return {
        "party": error.party,
        "step": error.step,
        "round": None if found is None else int(found[1]),
        "reason": error.reason,
    }


def _results(alone: Mapping[str, TrainedAlone], finished: list[Finished]) -> list[dict[str, Any]]:
    rows = [{"name": f"{party} alone", "kind": "alone", **asdict(found)} for party, found in alone.items()]
    for run in finished:
        validation = run.state.validation.final or {}
        name = f"{run.name} federated"
        rows.append({"name": name, "kind": run.name, "metrics": run.final_metrics, "validation": validation})
    return rows


def _difference(plain: Finished | None, main: Finished) -> dict[str, float] | None:
    if plain is None or not plain.final_metrics or not main.final_metrics:
        return None
    names = [name for name in _METRIC_ORDER if name in plain.final_metrics and name in main.final_metrics]
    return {name: main.final_metrics[name] - plain.final_metrics[name] for name in names}


def _convergence_bias(plain: Finished | None, main: Finished) -> float | None:
    """|L - L_enc| / L of the final training loss: FLBooster (ICDE 2023), Eq. 15."""
    if plain is None or not plain.state.losses or plain.state.losses[-1] == 0:
        return None
    return abs(plain.state.losses[-1] - main.state.losses[-1]) / plain.state.losses[-1]


def _compared_bits(plain: Finished | None, main: Finished, compared: Sequence[Finished]) -> list[dict[str, Any]]:
    """A line for each number of bits, the job's own among them; empty where none was compared."""
    runs = sorted((*compared, main), key=lambda run: run.federation.settings.codec.value_bits) if compared else []
    return [
        {
            "value_bits": run.federation.settings.codec.value_bits,
            "metrics": run.final_metrics,
            "validation": run.state.validation.final or {},
            "loss": run.state.losses[-1],
            "convergence_bias": _convergence_bias(plain, run),
            "update_sealed": run.federation.sum_traffic.up_bytes if run.federation.sum_traffic else None,
            "bits_per_value_up": _bits_per_value(run.federation.settings, run.federation.packing),
            "clipped": _clipped(run),
        }
        for run in runs
    ]


def _rounds(run: Finished) -> list[dict[str, Any]]:
    metrics = run.metrics or [{}] * len(run.records)
    return [
        {
            "round": record.round,
            "loss": record.loss,
            "clipped": record.clipped_count,
            "values": record.value_count,
            "metrics": found,
            "validation": record.validation,
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
    """Sealed bytes of all roles and of one party's last sum; written bytes of what it masked or encrypted."""
    federation = main.federation
    value_count = _values_in_update(main)
    one_sum = federation.sum_traffic or SumTraffic()
    return {
        "by_role": {
            name: {"sent": traffic.sent_bytes, "received": traffic.received_bytes, "by_step": _by_step(traffic)}
            for name, traffic in federation.traffic.items()
        },
        "update_values": value_count,
        "float32_per_update": 4 * value_count,
        "update_sealed": one_sum.up_bytes,
        "sum_sealed": one_sum.down_bytes,
        "to_openers_sealed": one_sum.to_openers_bytes,
        "from_openers_sealed": one_sum.from_openers_bytes,
        "ratio_to_float32": one_sum.up_bytes / (4 * value_count),
        **_ciphertext_bytes(settings, federation.packing),
    }


def _by_step(traffic: Traffic) -> dict[str, dict[str, int]]:
    return {kind: asdict(found) for kind, found in traffic.by_step.items()}


def _values_in_update(main: Finished) -> int:
    """Of one party's update; the model's own where a resumed run had nothing left to do but to validate."""
    if main.records:
        return main.records[-1].value_count // main.records[-1].party_count
    return int(sum(np.asarray(values).size for values in main.state.parameters.values()))


def _ciphertext_bytes(settings: HorizontalSettings, packing: Packing | None) -> dict[str, Any]:
    """Of one ciphertext or full chunk, and of all of an update, before they are sealed."""
    if settings.protection == "paillier":
        one = settings.key_bits // 4
        return {"ciphertext_bytes": one, "update_written": None if packing is None else one * packing.ciphertext_count}
    if settings.protection == "none" or packing is None:
        return {"ciphertext_bytes": None, "update_written": None}
    parameters = choose_parameters(settings.codec.value_bits, settings.sample_size)
    form = parameters.form
    return {
        "ciphertext_bytes": form.written_bytes(form.values_per_chunk),
        "update_written": form.written_bytes(packing.lane_count),
        "bits_per_value_up": parameters.upload_bits,
        "bits_per_value_down": parameters.download_bits,
    }


def _bits_per_value(settings: HorizontalSettings, packing: Packing | None) -> float | None:
    """Of an update that fills its ciphertexts or chunks, before it is sealed."""
    if settings.protection == "paillier":
        return None if packing is None else 2 * settings.key_bits / packing.lanes_per_ciphertext
    return choose_parameters(settings.codec.value_bits, settings.sample_size).upload_bits


def _clipped(main: Finished) -> dict[str, int] | None:
    if main.federation.settings.protection == "none":
        return None
    return {
        "count": sum(record.clipped_count for record in main.records),
        "of": sum(record.value_count for record in main.records),
    }
