"""What a run found, as the plain tables of summary.json; every figure comes from the run itself."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hekat.job.horizontal.job_file import Job
from hekat.model import MODEL_NAMES
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.training.training_state import RoundRecord
from hekat.protocol.secure_sum.cost.packing import Packing
from hekat.summary.convergence import Convergence, describe_convergence
from hekat.summary.horizontal.aggregator_view import AggregatorView
from hekat.summary.horizontal.caveats import list_caveats
from hekat.summary.horizontal.clip_history import clip_history
from hekat.summary.horizontal.cross_validation import describe_folds
from hekat.summary.horizontal.described_settings import describe_settings, parameters_of_update
from hekat.summary.horizontal.finished_run import Dropout, FinishedRun
from hekat.summary.horizontal.privacy import describe_privacy, loss_noise_of
from hekat.summary.horizontal.role_result import RoleResult
from hekat.summary.horizontal.table_facts import TableFacts
from hekat.summary.horizontal.traffic import SumTraffic, Traffic
from hekat.summary.run_facts import Played, facts_of_run

_ROUND = re.compile(r"round-(\d+)(?:/|$)")
_METRIC_ORDER = ("accuracy", "log_loss", "auc", "rmse", "r2")


@dataclass(frozen=True)
class TrainedAlone:
    """How good a model is that one party trained by itself: on the common test set, and on its own held-out rows."""

    metrics: dict[str, float]
    validation: dict[str, float]


def summarise(
    job: Job,
    run_id: str,
    main: FinishedRun,
    *,
    test_table: TableFacts | None = None,
    alone: Mapping[str, TrainedAlone] | None = None,
    plain: FinishedRun | None = None,
    compared: Sequence[FinishedRun] = (),
    view: AggregatorView | None = None,
    more_caveats: Sequence[str] = (),
    played: Played = "in turn",
) -> dict[str, Any]:
    """The whole of summary.json, of the results that are known here; what is not known here is empty or None.

    `compared` are the same trained at other bits per value; `view` is of the aggregator's ledger.
    """
    settings = job.settings
    finished = [run for run in (plain, main) if run is not None]
    privacy = describe_privacy(main)
    folds = describe_folds(settings, main.trained.folds)
    return {
        **facts_of_run(run_id, job.name, job.digest, played),
        "settings": describe_settings(settings, main.members, main.packing),
        "parties": [_describe_party(name, main.results[name]) for name in settings.parties if name in main.results],
        "test_rows": None if test_table is None else test_table.rows,
        "test_rows_trained_on": 0 if test_table is None else test_table.trained_on,
        "task": "classification" if settings.classes is not None else "regression",
        "results": _results(alone or {}, finished),
        "difference": _difference(plain, main),
        "convergence_bias": _convergence_bias(plain, main),
        "compared_bits": _compared_bits(plain, main, compared),
        "rounds": {run.name: _rounds(run) for run in finished},
        "convergence": _convergence(main),
        **({} if folds is None else {"cross_validation": folds}),
        **({} if privacy is None else {"privacy": privacy}),
        **_times(plain, main),
        "bytes": _bytes(main),
        "packing": None if main.packing is None else asdict(main.packing),
        **({} if main.trained.mask is None else {"mask": asdict(main.trained.mask)}),
        "clipped": _clipped(main),
        "clipped_by_tensor": clip_history(main.records),
        "exactness": [asdict(check) for check in main.checks or ()],
        "lost": [_describe_dropout(dropout) for dropout in main.dropouts],
        "included": [] if view is None else [asdict(entry) for entry in view.included],
        "aggregator_saw": [] if view is None else list(view.saw),
        "aggregator_saw_steps": [] if view is None else list(view.steps),
        "notes": [
            *list_caveats(job, main, test_table, compares_plain=plain is not None, compares_bits=bool(compared)),
            *more_caveats,
        ],
    }


def _describe_party(name: str, result: RoleResult) -> dict[str, Any]:
    table = result.table
    assert table is not None  # a party has one
    return {"name": name, "rows": table.rows, "held_out": table.held_out, "class_rows": table.class_rows}


def _describe_dropout(dropout: Dropout) -> dict[str, Any]:
    """`round` is null for a dropout before the first one."""
    found = _ROUND.match(dropout.step)
    return {
        "party": dropout.party,
        "step": dropout.step,
        "round": None if found is None else int(found[1]),
        "reason": dropout.reason,
    }


def _results(alone: Mapping[str, TrainedAlone], finished: list[FinishedRun]) -> list[dict[str, Any]]:
    rows = [{"name": f"{party} alone", "kind": "alone", **asdict(found)} for party, found in alone.items()]
    for run in finished:
        name = f"{run.name} federated"
        rows.append(
            {"name": name, "kind": run.name, "metrics": run.trained.metrics, "validation": run.trained.validation}
        )
    return rows


def _difference(plain: FinishedRun | None, main: FinishedRun) -> dict[str, float] | None:
    if plain is None or not plain.trained.metrics or not main.trained.metrics:
        return None
    names = [name for name in _METRIC_ORDER if name in plain.trained.metrics and name in main.trained.metrics]
    return {name: main.trained.metrics[name] - plain.trained.metrics[name] for name in names}


def _convergence_bias(plain: FinishedRun | None, main: FinishedRun) -> float | None:
    """|L - L_enc| / L of the final training loss: FLBooster (ICDE 2023), Eq. 15."""
    if plain is None or not plain.trained.losses or plain.trained.losses[-1] == 0:
        return None
    return abs(plain.trained.losses[-1] - main.trained.losses[-1]) / plain.trained.losses[-1]


def _compared_bits(
    plain: FinishedRun | None, main: FinishedRun, compared: Sequence[FinishedRun]
) -> list[dict[str, Any]]:
    """A line for each number of bits, the job's own among them; empty where none was compared."""
    runs = sorted((*compared, main), key=lambda run: run.settings.codec.value_bits) if compared else []
    return [
        {
            "value_bits": run.settings.codec.value_bits,
            "metrics": run.trained.metrics,
            "validation": run.trained.validation,
            "loss": run.trained.losses[-1],
            "convergence_bias": _convergence_bias(plain, run),
            "update_sealed": run.sum_traffic.up_bytes if run.sum_traffic else None,
            "bits_per_value_up": _bits_per_value(run.settings, run.packing),
            "clipped": _clipped(run),
        }
        for run in runs
    ]


def _rounds(run: FinishedRun) -> list[dict[str, Any]]:
    return [
        {
            "round": record.round,
            "loss": record.loss,
            "clipped": record.clipped_count,
            "scaled_down": record.scaled_down_count,
            "values": record.value_count,
            "metrics": found,
            "validation": record.validation,
        }
        for record, found in zip(run.records, run.metrics, strict=True)
    ]


def _convergence(main: FinishedRun) -> Convergence | None:
    settings, trained = main.settings, main.trained
    is_own = settings.model.name not in MODEL_NAMES
    return describe_convergence(
        trained.losses,
        untrained=None if settings.classes is None or is_own else math.log(len(settings.classes)),
        stopped_early=0 < trained.rounds_done < settings.training.round_count,
        held=[_is_held(record, settings) for record in main.records],
        largest_weight=trained.largest_weight,
        noise_std=loss_noise_of(settings, _values_in_update(main), trained.losses),
    )


def _is_held(record: RoundRecord, settings: HorizontalSettings) -> bool:
    """Whether clipping held the round back: a line search moves by no sum with a clipped value, other steps lose most
    of their length where half of the values are cut."""
    least = 1 if settings.training.searches_line else 0.5 * record.value_count
    return record.clipped_count > 0 and record.clipped_count >= least


def _times(plain: FinishedRun | None, main: FinishedRun) -> dict[str, Any]:
    by_role = {name: dict(result.seconds_by_step) for name, result in main.results.items()}
    by_step: dict[str, float] = {}
    for seconds in by_role.values():
        for step, value in seconds.items():
            by_step[step] = by_step.get(step, 0.0) + value
    key_seconds = by_step.get("keys", 0.0)
    plain_seconds = None if plain is None else plain.seconds
    encrypted = main.seconds
    ratio = (encrypted - key_seconds) / plain_seconds if plain_seconds else None
    return {
        "seconds": {main.name: encrypted, "plain": plain_seconds or (encrypted if main.name == "plain" else None)}
        | {"key": key_seconds, "ratio": ratio if main.name == "encrypted" else None},
        "seconds_by_step": by_step,
        "seconds_by_role": by_role,
    }


def _bytes(main: FinishedRun) -> dict[str, Any]:
    """Sealed bytes of all roles and of one party's last sum, None where none was made here; written bytes of what it
    masked or encrypted."""
    value_count = _values_in_update(main)
    found, one_sum = main.sum_traffic, main.sum_traffic or SumTraffic()
    return {
        "by_role": {
            name: {
                "sent": result.traffic.sent_bytes,
                "received": result.traffic.received_bytes,
                "by_step": _by_step(result.traffic),
            }
            for name, result in main.results.items()
        },
        "update_values": value_count,
        "float32_per_update": 4 * value_count,
        "update_sealed": found and found.up_bytes,
        "sum_sealed": found and found.down_bytes,
        "to_openers_sealed": one_sum.to_openers_bytes,
        "from_openers_sealed": one_sum.from_openers_bytes,
        "ratio_to_float32": found.up_bytes / (4 * value_count) if found and value_count else None,
        **_ciphertext_bytes(main.settings, main.packing),
    }


def _by_step(traffic: Traffic) -> dict[str, dict[str, int]]:
    return {kind: asdict(found) for kind, found in traffic.by_step.items()}


def _values_in_update(main: FinishedRun) -> int:
    """Of one party's update; the model's own where a resumed run had nothing left to do but to validate."""
    if main.records:
        return main.records[-1].value_count // main.records[-1].party_count
    return main.trained.parameter_count


def _ciphertext_bytes(settings: HorizontalSettings, packing: Packing | None) -> dict[str, Any]:
    """Of one ciphertext or full chunk, and of all of an update, before they are sealed."""
    if settings.protection == "paillier":
        one = settings.key_bits // 4
        return {"ciphertext_bytes": one, "update_written": None if packing is None else one * packing.ciphertext_count}
    if settings.protection == "none" or packing is None:
        return {"ciphertext_bytes": None, "update_written": None}
    parameters = parameters_of_update(settings, packing)
    form = parameters.form
    return {
        "ciphertext_bytes": form.written_bytes(form.values_per_chunk),
        "update_written": form.written_bytes(packing.lane_count),
        "bits_per_value_up": parameters.upload_bits,
        "bits_per_value_down": parameters.download_bits,
    }


def _bits_per_value(settings: HorizontalSettings, packing: Packing | None) -> float | None:
    """Bits for an update that fills its ciphertexts or chunks, before it is sealed."""
    if settings.protection == "paillier":
        return None if packing is None else 2 * settings.key_bits / packing.lanes_per_ciphertext
    return parameters_of_update(settings, packing).upload_bits


def _clipped(main: FinishedRun) -> dict[str, int] | None:
    if main.settings.protection == "none":
        return None
    return {
        "count": sum(record.clipped_count for record in main.records),
        "of": sum(record.value_count for record in main.records),
    }
