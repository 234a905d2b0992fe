"""One party's part of a vertical model as a file for its owner alone; no other party's part is in it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hekat.data import ColumnSpecs
from hekat.disk_errors import disk_errors_as_state_errors, read_file
from hekat.engine.limbs import LIMB_BITS
from hekat.errors import HekatError, StateError
from hekat.job.vertical_linear.job_file import VerticalJob
from hekat.protocol.psi.settings import DEFAULT_KEY_BITS
from hekat.protocol.vertical_linear.mixing import MIXING
from hekat.protocol.vertical_linear.model_part import CALIBRATION, ModelPart
from hekat.protocol.vertical_linear.objective import INTERCEPT, WEIGHTS
from hekat.protocol.vertical_linear.settings import FORMS, TASKS
from hekat.protocol.vertical_linear.shared_weights.many_parties.quiet_training import NOISE_KEY, NOISE_KEY_BITS
from hekat.protocol.vertical_linear.shared_weights.weights import MODEL_INTERCEPT, MODEL_WEIGHTS
from hekat.run.predictions import PARTS_FOLDER
from hekat.state import replace_file
from hekat.state.array_file import decode_arrays, encode_arrays
from hekat.state.file_format import FileFormat, this_release

# Format 2 may hold a mixing of columns, and a calibration.
PART_FORMAT = FileFormat("model part", ("0.2.0", "0.2.0"))
_KIND = "model part"
_TEXTS = ("party", "guest", "form", "task", "model_id")
_COUNTS = ("feature_bits", "value_bits", "key_bits")
_NUMBERS = ("limit_spreads", "target_mean", "target_spread")
_OWN_ARRAYS = {"arbiter": {WEIGHTS}, "shared_weights": {MODEL_WEIGHTS, MODEL_INTERCEPT}}


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
        **{name: getattr(part, name) for name in (*_TEXTS, *_COUNTS, *_NUMBERS)},
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
    except (HekatError, KeyError, TypeError, ValueError) as error:
        raise StateError(
            f"{what} does not say how to predict",
            expected="parties, columns and weights that fit each other",
            got=f"others ({type(error).__name__})",
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
    return {party: found[party] for party in parties}


def _read(metadata: Mapping[str, Any], arrays: Mapping[str, Any]) -> SavedPart:
    columns, classes, hosts = metadata["columns"], metadata["classes"], metadata["hosts"]
    # A part of an earlier release does not say it, and is one of two parties' in this form.
    holders = metadata.get("share_holders", [])
    texts = {name: metadata[name] for name in _TEXTS}
    if not all(isinstance(text, str) for text in [*texts.values(), *columns, *hosts, *holders, *(classes or [])]):
        raise ValueError("names that are no texts")
    described: dict[str, Any] = {
        **texts,
        **{name: int(metadata[name]) for name in _COUNTS},
        **{name: float(metadata[name]) for name in _NUMBERS},
    }
    part = ModelPart(
        **described,
        hosts=tuple(hosts),
        share_holders=tuple(holders),
        classes=None if classes is None else tuple(classes),
        columns=tuple(columns),
        means=arrays["means"],
        spreads=arrays["spreads"],
        arrays={name.removeprefix("part/"): one for name, one in arrays.items() if name.startswith("part/")},
    )
    _check_part(part)
    return SavedPart(
        part,
        ColumnSpecs.from_json(metadata["column_specs"]),
        bool(metadata["sparse"]),
        str(metadata["intersection"]),
        str(metadata["job"]),
        # A part of an earlier release does not say it, and predicted with keys of the default size.
        int(metadata.get("intersection_key_bits", DEFAULT_KEY_BITS)),
    )


def _check_part(part: ModelPart) -> None:
    if part.form not in FORMS or part.task not in TASKS or part.party not in (part.guest, *part.hosts):
        raise ValueError("a part of no form, task or party")
    shape = (len(part.columns),)
    if not (part.means.shape == part.spreads.shape == shape and np.isfinite(part.means).all()):
        raise ValueError("a standardiser of other columns")
    if not ((part.spreads > 0).all() and np.isfinite(part.spreads).all() and part.target_spread > 0):
        raise ValueError("a spread that is none")
    in_order = tuple(name for name in part.parties if name in part.share_holders)
    if part.share_holders and (len(in_order) != 2 or in_order != part.share_holders):
        raise ValueError("holders that are not two of the parties")
    if len(part.hosts) > 1 and part.form == "shared_weights" and not part.share_holders:
        raise ValueError("no holders among many parties")
    if not 0 <= part.limit_spreads < math.inf:
        raise ValueError("a limit that is none")
    mixing = part.arrays.get(MIXING)
    if mixing is not None:
        size = len(part.columns)
        if mixing.shape not in ((size,), (size + 1, size)) or not np.isfinite(mixing).all():
            raise ValueError("a mixing of other columns")
    calibration = part.arrays.get(CALIBRATION)
    if calibration is not None and not (calibration.dtype == np.float64 and np.isfinite(calibration).all()):
        raise ValueError("a calibration that is none")
    _check_arrays(part)


def _check_arrays(part: ModelPart) -> None:
    count = part.target_count
    if CALIBRATION in part.arrays and part.arrays[CALIBRATION].shape not in ((count, 2), (count, count + 1)):
        raise ValueError("a calibration of other classes")
    if part.form == "shared_weights" and part.party not in part.holders:
        key = part.arrays.get(NOISE_KEY)
        if key is None or key.dtype != np.uint64 or key.shape != (NOISE_KEY_BITS // LIMB_BITS,):
            raise ValueError("no key of noise")
        return
    needed = _OWN_ARRAYS[part.form] | ({INTERCEPT} if part.form == "arbiter" and part.party == part.guest else set())
    if not needed <= part.arrays.keys():
        raise ValueError("other arrays")
    if part.form == "arbiter":
        if not all(values.dtype == np.float64 and np.isfinite(values).all() for values in part.arrays.values()):
            raise ValueError("weights that are no finite numbers")
        if part.arrays[WEIGHTS].shape != (len(part.columns), count):
            raise ValueError("weights of other columns")
        if INTERCEPT in needed and part.arrays[INTERCEPT].shape != (count,):
            raise ValueError("another intercept")
        return
    if not all(values.dtype == np.uint64 for name, values in part.arrays.items() if name not in (MIXING, CALIBRATION)):
        raise ValueError("shares of another kind")
    weights, intercept = part.arrays[MODEL_WEIGHTS], part.arrays[MODEL_INTERCEPT]
    if weights.ndim != 3 or weights.shape[1:] != (count, 2) or intercept.shape[-2:] != (count, 2):
        raise ValueError("shares of another shape")
