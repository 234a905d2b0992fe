"""What a role keeps of a finished training on an encrypted model, as a file for it alone: joint scores take it.

A host keeps what the model is of, which no weight tells; arbiter and aggregator keep a share of the weights each, of no
use without the other one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hekat.data import ColumnSpecs
from hekat.disk_errors import disk_errors_as_state_errors, read_file
from hekat.errors import StateError
from hekat.protocol.encrypted_model.held_share import HeldShare
from hekat.protocol.encrypted_model.party_run import SHARE, TRANSCRIPT
from hekat.protocol.encrypted_model.set_up.facts import ModelFacts
from hekat.protocol.encrypted_model.set_up.moments import Moments
from hekat.protocol.encrypted_model.settings import EncryptedModelSettings
from hekat.protocol.encrypted_model.training_settings import EncryptedTraining
from hekat.run.encrypted_model.kept_part_checks import check_facts, check_settings, check_share, check_texts
from hekat.run.model_file_checks import UNREADABLE, flaw_of
from hekat.run.predictions import KEPT_FOLDER
from hekat.state import replace_file
from hekat.state.array_file import decode_arrays, encode_arrays
from hekat.state.file_format import FileFormat, this_release

KEPT_FORMAT = FileFormat("part of an encrypted model", ("0.3.0",))
_KIND: Final = "encrypted model part"
_MEANS: Final = "means"
_SPREADS: Final = "spreads"
_MODEL_DOMAIN: Final = b"hekat encrypted model id v1"
_TEXTS: Final = ("role", "model_id", "job")


@dataclass(frozen=True)
class KeptPart:
    """One role's part: `facts` at a host, `held` at arbiter and aggregator. `model_id` is the same in all parts."""

    role: str
    model_id: str
    job: str
    settings: EncryptedModelSettings
    column_specs: ColumnSpecs
    facts: ModelFacts | None = field(default=None, repr=False)
    held: HeldShare | None = field(default=None, repr=False)

    @property
    def column_count(self) -> int:
        """How many columns the model has, the intercept left out."""
        if self.facts is not None:
            return len(self.facts.columns)
        assert self.held is not None  # reading and making refuse a part of neither
        return len(self.held.share) // (2 if self.settings.training.uses_velocity else 1) - 1

    @property
    def counted(self) -> CountedPart:
        """The name that scored rows are counted under.

        At a role with a share it is of the share's transcript: a run that is resumed at its end, and so has a new
        `model_id`, has the same weights, and no new count.
        """
        if self.held is None:
            return CountedPart(self.role, self.model_id)
        return CountedPart(self.role, self.held.transcript.hex())


@dataclass(frozen=True)
class CountedPart:
    """A party's part of a model, by the name that its rows are counted under."""

    party: str
    model_id: str


def model_id_of(session_id: bytes) -> str:
    """The public name that all parts of a session's model carry."""
    return hashlib.sha256(_MODEL_DOMAIN + session_id).hexdigest()[:32]


def save_kept_part(run_folder: Path, part: KeptPart) -> None:
    """Write `run_folder`/kept/ROLE.npz, whole or not at all, mode 600, in a folder of mode 700. Raises StateError."""
    folder = run_folder / KEPT_FOLDER
    metadata: dict[str, Any] = {
        "format": KEPT_FORMAT.newest,
        "hekat": this_release(),
        **{name: getattr(part, name) for name in _TEXTS},
        "settings": asdict(part.settings),
        "column_specs": part.column_specs.of_features().to_json(),
    }
    arrays: dict[str, npt.NDArray[Any]] = {}
    if part.facts is not None:
        metadata |= {"columns": list(part.facts.columns), "row_count": part.facts.moments.row_count}
        arrays |= {_MEANS: part.facts.moments.means, _SPREADS: part.facts.moments.spreads}
    if part.held is not None:
        metadata["rounds_done"] = part.held.rounds_done
        arrays |= {SHARE: part.held.share, TRANSCRIPT: np.frombuffer(part.held.transcript, np.uint8)}
    with disk_errors_as_state_errors(f"{folder} could not be written"):
        folder.mkdir(mode=0o700, exist_ok=True)
    replace_file(folder / f"{part.role}.npz", encode_arrays(_KIND, metadata, arrays))


def load_kept_part(run_folder: Path, role: str) -> KeptPart:
    """The role's part. Raises StateError where it is not there, damaged, of another role, or cannot be a part."""
    path = run_folder / KEPT_FOLDER / f"{role}.npz"
    what = f"model part {path}"
    if not path.exists():
        raise StateError(
            f"{run_folder} does not hold what {role} keeps of the model",
            expected=f"{KEPT_FOLDER}/{role}.npz, of a run that finished on this machine",
            got="no such file",
            cure="if the run stopped early, go on with: hekat run JOB --resume RUN",
        )
    metadata, arrays = decode_arrays(read_file(path), _KIND, what)
    KEPT_FORMAT.check(metadata.get("format"), what, StateError)
    try:
        part = _read(metadata, arrays)
        if part.role != role:
            raise ValueError("a part of another role")
    except UNREADABLE as error:
        raise StateError(
            f"{what} does not say how to predict",
            expected=f"what {role} kept of a model",
            got=flaw_of(error),
            cure="restore it from a copy, or train again",
        ) from None
    return part


def _read(described: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> KeptPart:
    check_texts([described[name] for name in _TEXTS])
    check_settings(described["settings"])
    said = described["settings"]
    settings = EncryptedModelSettings(**{**said, "training": EncryptedTraining(**said["training"])})
    role = described["role"]
    facts = held = None
    if role in settings.hosts:
        moments = Moments(described["row_count"], arrays[_MEANS], arrays[_SPREADS])
        check_facts(described["columns"], moments, settings)
        facts = ModelFacts(tuple(described["columns"]), moments)
    elif role in (settings.arbiter, settings.aggregator):
        check_share(arrays[SHARE], arrays[TRANSCRIPT], described["rounds_done"], settings)
        held = HeldShare(arrays[SHARE], arrays[TRANSCRIPT].tobytes(), described["rounds_done"])
    else:
        raise ValueError("a part of no role that keeps one")
    specs = ColumnSpecs.from_json(described["column_specs"])
    return KeptPart(role, described["model_id"], described["job"], settings, specs, facts, held)
