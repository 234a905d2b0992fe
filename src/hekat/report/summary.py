"""Reads the summary.json of a run folder, checked whole, so that nothing after it meets a missing or odd value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from hekat.errors import StateError
from hekat.report import shape
from hekat.report.encrypted_model.summary import ENCRYPTED_MODEL_SUMMARY
from hekat.report.horizontal.summary import check_horizontal_summary
from hekat.report.horizontal_trees.summary import check_row_trees_summary
from hekat.report.psi.summary import PSI_SUMMARY
from hekat.report.vertical_linear.summary import VERTICAL_SUMMARY
from hekat.report.vertical_network.summary import NETWORK_SUMMARY
from hekat.report.vertical_trees.summary import TREES_SUMMARY
from hekat.state import cure_of_parent
from hekat.summary.summary_format import SUMMARY_FILE, SUMMARY_FORMAT

MAX_SUMMARY_BYTES = 64 * 2**20

Summary = dict[str, Any]

_SHAPES: Mapping[str, shape.Check] = {
    "horizontal": check_horizontal_summary,
    "horizontal_trees": check_row_trees_summary,
    "encrypted_model": ENCRYPTED_MODEL_SUMMARY,
    "vertical_linear": VERTICAL_SUMMARY,
    "vertical_trees": TREES_SUMMARY,
    "vertical_network": NETWORK_SUMMARY,
    "psi": PSI_SUMMARY,
}


def protocol_of(summary: Mapping[str, Any]) -> str:
    """The protocol of the run; a horizontal run's summary does not name it."""
    return str(summary.get("protocol", "horizontal"))


def load_summary(run_folder: Path) -> Summary:
    """The checked summary of a run, in the form `hekat run` wrote it.

    Args:
        run_folder: such as runs/<id>.

    Returns:
        Every figure of the run.

    Raises:
        StateError: the folder or the summary is not there, is damaged, or is of another format version.

    Examples:
        >>> load_summary(run_folder)["job"]
        'first'
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
            cure=cure_of_parent(
                run_folder, "if the run stopped early, resume it; if this is another folder, give the run's own"
            ),
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
