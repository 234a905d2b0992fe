"""One party's part of a vertical model as a file for its owner alone; no other party's part is in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hekat.data import ColumnSpecs
from hekat.disk_errors import disk_errors_as_state_errors, read_file
from hekat.errors import StateError
from hekat.job.vertical_linear.job_file import VerticalJob
from hekat.protocol.psi.settings import DEFAULT_KEY_BITS
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.run.model_file_checks import UNREADABLE, flaw_of
from hekat.run.predictions import PARTS_FOLDER
from hekat.run.vertical_linear.part_checks import COUNTS, NUMBERS, TEXTS, check_described, check_part, unlike
from hekat.state import replace_file
from hekat.state.array_file import decode_arrays, encode_arrays
from hekat.state.file_format import FileFormat, this_release

# Format 2 may hold a mixing of columns, and a calibration.
PART_FORMAT = FileFormat("model part", ("0.2.0", "0.2.0"))
_KIND = "model part"
_SAVED_ALIKE = ("sparse", "intersection", "job", "intersection_key_bits")


@dataclass(frozen=True)
class SavedPart:
    """A part, and the facts needed to read new rows for it.

    `intersection` is the kind that matched the training rows, `intersection_key_bits` the size of its keys.
    """

    part: ModelPart
    column_specs: ColumnSpecs
    sparse: bool
    intersection: str
    job: str
    intersection_key_bits: int = DEFAULT_KEY_BITS


def save_part(folder: Path, job: VerticalJob, part: ModelPart, columns: ColumnSpecs) -> None:
    """Write `folder`/PARTY.npz, whole or not at all, mode 600; `folder` is made where it is missing, mode 700.

    `columns` is the job's description, with the fills that this party's own rows gave.
    """
    metadata = {
        "format": PART_FORMAT.newest,
        "hekat": this_release(),
        "job": job.name,
        **{name: getattr(part, name) for name in (*TEXTS, *COUNTS, *NUMBERS)},
        "hosts": list(part.hosts),
        "classes": None if part.classes is None else list(part.classes),
        "share_holders": list(part.share_holders),
        "columns": list(part.columns),
        "column_specs": columns.of_features().to_json(),
        "sparse": job.sparse,
        "intersection": job.intersection_kind,
        "intersection_key_bits": DEFAULT_KEY_BITS if job.intersection is None else job.intersection.key_bits,
    }
    arrays = {"means": part.means, "spreads": part.spreads, **{f"part/{key}": one for key, one in part.arrays.items()}}
    with disk_errors_as_state_errors(f"{folder} could not be written"):
        folder.mkdir(mode=0o700, exist_ok=True)
    replace_file(folder / f"{part.party}.npz", encode_arrays(_KIND, metadata, arrays))


def load_part(path: Path) -> SavedPart:
    """The part in the file at `path`. Raises StateError where it is not there, damaged, or of another form."""
    what = f"model part {path}"
    metadata, arrays = decode_arrays(read_file(path), _KIND, what)
    PART_FORMAT.check(metadata.get("format"), what, StateError)
    try:
        return _read(metadata, arrays)
    except UNREADABLE as error:
        raise StateError(
            f"{what} does not say how to predict",
            expected="parties, columns and weights that fit each other",
            got=flaw_of(error),
            cure="restore it from a copy, or train again",
        ) from None


def load_parts(run_folder: Path) -> dict[str, SavedPart]:
    """Every party's part that lies in a run's folder, the guest's first, then in the order of hosts.

    Raises StateError where one is missing: a part is of no use without the others.
    """
    folder = run_folder / PARTS_FOLDER
    with disk_errors_as_state_errors(f"{folder} cannot be read"):
        paths = sorted(folder.glob("*.npz"))
    found = {saved.part.party: saved for saved in map(load_part, paths)}
    first = next(iter(found.values()), None)
    parties = () if first is None else (first.part.guest, *first.part.hosts)
    missing = [party for party in parties if party not in found]
    if first is None or missing:
        raise StateError(
            f"{run_folder} does not hold the whole model",
            expected=f"a part of every party in {PARTS_FOLDER}/, of a run that finished on this machine",
            got=f"none of {', '.join(missing)}" if missing else "no part",
            cure="if the run stopped early, go on with: hekat run JOB --resume RUN",
        )
    strangers = [party for party, saved in found.items() if saved.part.model_id != first.part.model_id]
    if strangers or len(found) != len(parties):
        raise StateError(
            f"parts in {folder} are of different models",
            expected=f"parts of one model, of {', '.join(parties)}",
            got=f"{len(found)} parts, {len(strangers)} of them of another model",
            cure="put the run's folder back as it was left",
        )
    _check_alike(folder, list(found.values()))
    return {party: found[party] for party in parties}


def _check_alike(folder: Path, saved: Sequence[SavedPart]) -> None:
    """Raise StateError where parts say different things of what all parties agreed on."""
    first = saved[0]
    for other in saved[1:]:
        names = unlike(first.part, other.part)
        names += [name for name in _SAVED_ALIKE if getattr(first, name) != getattr(other, name)]
        if names:
            raise StateError(
                f"parts in {folder} say different things of one model",
                expected=f"the same {', '.join(names)} in the parts of {first.part.party} and {other.part.party}",
                got="others",
                cure="put the run's folder back as it was left, or train again",
            )


def _read(metadata: Mapping[str, Any], arrays: Mapping[str, Any]) -> SavedPart:
    # A part of an earlier release says no holders, and is one of two parties' in this form; or no size of keys, and
    # predicted with keys of the default size.
    described = {"share_holders": [], "intersection_key_bits": DEFAULT_KEY_BITS, **metadata}
    check_described(described)
    classes = described["classes"]
    plain: dict[str, Any] = {name: described[name] for name in (*TEXTS, *COUNTS)}
    plain |= {name: float(described[name]) for name in NUMBERS}
    part = ModelPart(
        **plain,
        hosts=tuple(described["hosts"]),
        share_holders=tuple(described["share_holders"]),
        classes=None if classes is None else tuple(classes),
        columns=tuple(described["columns"]),
        means=arrays["means"],
        spreads=arrays["spreads"],
        arrays={name.removeprefix("part/"): one for name, one in arrays.items() if name.startswith("part/")},
    )
    check_part(part)
    return SavedPart(
        part,
        ColumnSpecs.from_json(described["column_specs"]),
        described["sparse"],
        described["intersection"],
        described["job"],
        described["intersection_key_bits"],
    )
