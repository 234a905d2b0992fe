"""Reads the summary.json of a run folder, checked whole, so that nothing after it meets a missing or odd value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from hekat.errors import StateError
from hekat.report import shape
from hekat.report.psi.summary import PSI_SUMMARY
from hekat.report.table import METRIC_ORDER
from hekat.report.vertical_linear.summary import VERTICAL_SUMMARY
from hekat.summary.summary_format import SUMMARY_FORMAT

SUMMARY_FILE = "summary.json"
MAX_SUMMARY_BYTES = 64 * 2**20

Summary = dict[str, Any]

_METRICS = shape.map_of(shape.number)
# Of held-out rows: how many there were, beside the metrics; empty where nothing was validated.
_VALIDATION = shape.empty_or(
    shape.record({"rows": shape.count}, {**dict.fromkeys(METRIC_ORDER, shape.number), "auc_error": shape.amount})
)
_ROUND = shape.record(
    {"round": shape.count, "loss": shape.number},
    {
        "clipped": shape.nullable(shape.count),
        "values": shape.nullable(shape.count),
        "metrics": _METRICS,
        "validation": _VALIDATION,
    },
)
_SETTINGS = shape.record(
    {
        "algorithm": shape.text,
        "model": shape.text,
        "protection": shape.one_of("lattice", "paillier", "none"),
        "aggregator": shape.text,
        "leader": shape.text,
    },
    {
        "key_bits": shape.nullable(shape.count),
        "classes": shape.nullable(shape.list_of(shape.text)),
        "opening": shape.text,
        "openers": shape.list_of(shape.text),
        "openers_needed": shape.count,
        "participation": shape.amount,
        "sample_size": shape.count,
        "min_parties": shape.count,
        "parameter_set": shape.text,
        "security": shape.text,
    },
)
_WAYS = shape.record(dict.fromkeys(("up", "down", "shares_out", "shares_in"), shape.count))
_BYTES = shape.record(
    {
        "by_role": shape.map_of(
            shape.record({"sent": shape.count, "received": shape.count}, {"by_step": shape.map_of(_WAYS)})
        ),
        "update_values": shape.count,
        "float32_per_update": shape.count,
        "update_sealed": shape.nullable(shape.count),
        "sum_sealed": shape.nullable(shape.count),
        "ratio_to_float32": shape.nullable(shape.amount),
        "ciphertext_bytes": shape.nullable(shape.count),
    },
    {
        "update_written": shape.nullable(shape.count),
        "to_openers_sealed": shape.count,
        "from_openers_sealed": shape.count,
        "bits_per_value_up": shape.amount,
        "bits_per_value_down": shape.amount,
    },
)
_PACKING = shape.record(
    {
        "lane_count": shape.count,
        "lane_bits": shape.count,
        "lanes_per_ciphertext": shape.count,
        "ciphertext_count": shape.count,
        "compression_ratio": shape.amount,
        "plaintext_space_use": shape.amount,
    }
)
_CHECK = shape.record(
    {"step": shape.text, "largest_error": shape.amount, "bound": shape.amount, "clipped_excess": shape.amount}
)
_RESULT = shape.record(
    {"name": shape.text, "kind": shape.one_of("alone", "plain", "encrypted"), "metrics": _METRICS},
    {"validation": _VALIDATION},
)
_PARTY = shape.record(
    {"name": shape.text, "rows": shape.count, "class_rows": shape.nullable(shape.map_of(shape.count))},
    {"held_out": shape.count},
)
_LOSS = shape.record(
    {"party": shape.text, "step": shape.text, "round": shape.nullable(shape.count), "reason": shape.text}
)
_CLIPPED = shape.nullable(shape.record({"count": shape.count, "of": shape.count}))
_COMPARED = shape.record(
    {
        "value_bits": shape.count,
        "metrics": _METRICS,
        "validation": _VALIDATION,
        "loss": shape.number,
        "convergence_bias": shape.nullable(shape.amount),
        "update_sealed": shape.nullable(shape.count),
        "clipped": _CLIPPED,
    },
    {"bits_per_value_up": shape.nullable(shape.amount)},
)
_CLIP_COUNTS = {"clipped": shape.list_of(shape.count), "of": shape.list_of(shape.count)}
_CLIP_HISTORY = shape.same_lengths(
    shape.record(
        {
            "rounds": shape.list_of(shape.count),
            "tensors": shape.list_of(
                shape.record({"name": shape.text, **_CLIP_COUNTS, "bound": shape.list_of(shape.amount)})
            ),
            "others": shape.record({"tensors": shape.count, **_CLIP_COUNTS}),
        }
    )
)
_INCLUDED = shape.record({"first": shape.count, "last": shape.count, "parties": shape.list_of(shape.text)})
_SECONDS = shape.nullable(shape.amount)

_HORIZONTAL = shape.record(
    {
        "run_id": shape.text,
        "job": shape.text,
        "job_digest": shape.text,
        "finished_at": shape.text,
        "versions": shape.map_of(shape.text),
        "machine": shape.map_of(shape.scalar),
        "engine": shape.map_of(shape.scalar),
        "settings": _SETTINGS,
        "parties": shape.list_of(_PARTY, least=1),
        "test_rows": shape.nullable(shape.count),
        "task": shape.one_of("classification", "regression"),
        "results": shape.list_of(_RESULT, least=1),
        "difference": shape.nullable(_METRICS),
        "convergence_bias": shape.nullable(shape.amount),
        "rounds": shape.record({}, {"encrypted": shape.list_of(_ROUND), "plain": shape.list_of(_ROUND)}),
        "seconds": shape.record({}, {"encrypted": _SECONDS, "plain": _SECONDS, "key": _SECONDS, "ratio": _SECONDS}),
        "seconds_by_step": shape.map_of(shape.amount),
        "seconds_by_role": shape.map_of(shape.map_of(shape.amount)),
        "bytes": _BYTES,
        "packing": shape.nullable(_PACKING),
        "clipped": _CLIPPED,
        "exactness": shape.list_of(_CHECK),
        "aggregator_saw": shape.list_of(shape.text),
        "notes": shape.list_of(shape.text),
    },
    {
        "compared_bits": shape.list_of(_COMPARED),
        "clipped_by_tensor": shape.nullable(_CLIP_HISTORY),
        "lost": shape.list_of(_LOSS),
        "included": shape.list_of(_INCLUDED),
        "aggregator_saw_steps": shape.list_of(shape.text),
    },
)


_SHAPES: Mapping[str, shape.Check] = {
    "horizontal": _HORIZONTAL,
    "vertical_linear": VERTICAL_SUMMARY,
    "psi": PSI_SUMMARY,
}


def protocol_of(summary: Mapping[str, Any]) -> str:
    """The protocol of the run; a horizontal run's summary does not name it."""
    return str(summary.get("protocol", "horizontal"))


def load_summary(run_folder: Path) -> Summary:
    """The checked summary of the run in `run_folder`, in the form `hekat run` wrote it.

    Raises StateError where the folder or the summary is not there, is damaged, or is of another format version.
    """
    path = run_folder / SUMMARY_FILE
    summary = _parse(path, _read(run_folder, path))
    if not isinstance(summary, dict) or "format" not in summary:
        _refuse_damaged(path, "a summary with its format version", "something else")
    SUMMARY_FORMAT.check(summary["format"], str(path), StateError)
    fault = _SHAPES[_known_protocol(path, summary)](summary)
    if fault is not None:
        _refuse_damaged(path, f"{fault[1]} at {fault[0].lstrip('.')[:120]}", "something else there")
    return summary


def _known_protocol(path: Path, summary: Mapping[str, Any]) -> str:
    protocol = protocol_of(summary)
    if protocol not in _SHAPES:
        _refuse_damaged(path, f"a run of protocol {' or '.join(_SHAPES)}", "another protocol")
    return protocol


def _read(run_folder: Path, path: Path) -> bytes:
    if not run_folder.is_dir():
        raise StateError(
            f"{run_folder} is no run folder",
            expected="a folder that `hekat run` made, such as runs/<id>",
            got="a file" if run_folder.exists() else "nothing at that path",
            cure="check the path; `ls runs` shows the runs of this folder",
        )
    try:
        size = path.stat().st_size
        if size > MAX_SUMMARY_BYTES:
            _refuse_damaged(path, f"at most {MAX_SUMMARY_BYTES} bytes", f"{size} bytes")
        return path.read_bytes()
    except FileNotFoundError:
        raise StateError(
            f"{run_folder} holds no {SUMMARY_FILE}",
            expected="the folder of a run that finished",
            got="a folder without a summary",
            cure="if the run stopped early, resume it; if this is another folder, give the run's own",
        ) from None
    except OSError as error:
        raise StateError(
            f"{path} cannot be read", got=error.strerror or type(error).__name__, cure="look at the file's permissions"
        ) from error


def _parse(path: Path, data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        _refuse_damaged(path, "JSON", f"text that breaks off or is malformed at line {error.lineno}")
    except (ValueError, RecursionError):
        _refuse_damaged(path, "JSON in UTF-8 with finite numbers", "other bytes")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _refuse_damaged(path: Path, expected: str, got: str) -> NoReturn:
    raise StateError(
        f"{path} is damaged or was not written by Hekat",
        expected=expected,
        got=got,
        cure="restore it from a copy, or run the job again",
    ) from None
