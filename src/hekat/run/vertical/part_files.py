"""One party's part of a model on columns as a file for its owner alone; no other party's part is in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy.typing as npt

from hekat.data import ColumnSpecs
from hekat.disk_errors import disk_errors_as_state_errors, read_file
from hekat.errors import StateError
from hekat.job.section import control_character
from hekat.job.vertical.columns_job import ALIGNED, ColumnsJob
from hekat.protocol.psi.settings import DEFAULT_KEY_BITS, KINDS, IntersectionSettings
from hekat.protocol.psi.settings import MAX_KEY_BITS as MAX_INTERSECTION_KEY_BITS
from hekat.protocol.vertical.label_privacy.randomised_response import MAX_EPSILON, MIN_EPSILON
from hekat.run.model_file_checks import UNREADABLE, check_names, flaw_of
from hekat.run.predictions import PARTS_FOLDER
from hekat.state import replace_file
from hekat.state.array_file import decode_arrays, encode_arrays
from hekat.state.file_format import FileFormat, this_release

Facts = Mapping[str, Any]
Arrays = Mapping[str, npt.NDArray[Any]]
_SAVED_ALIKE = ("sparse", "intersection", "job", "intersection_key_bits")


class Part(Protocol):
    """A party's part of whatever model."""

    @property
    def party(self) -> str: ...

    @property
    def guest(self) -> str: ...

    @property
    def hosts(self) -> tuple[str, ...]: ...

    @property
    def classes(self) -> tuple[str, ...] | None: ...

    @property
    def columns(self) -> tuple[str, ...]: ...

    @property
    def model_id(self) -> str: ...


P = TypeVar("P", bound=Part)


@dataclass(frozen=True)
class SavedPart(Generic[P]):
    """A part, and the facts needed to read new rows for it.

    `intersection` is the kind that matched the training rows, `intersection_key_bits` the size of its keys.
    """

    part: P
    column_specs: ColumnSpecs
    sparse: bool
    intersection: str
    job: str
    intersection_key_bits: int = DEFAULT_KEY_BITS

    @property
    def matching(self) -> IntersectionSettings | None:
        """How new rows are matched: as the training rows were; None where they are in one order already."""
        if self.intersection == ALIGNED:
            return None
        return IntersectionSettings(
            self.part.guest, self.part.hosts, self.intersection, key_bits=self.intersection_key_bits
        )


@dataclass(frozen=True)
class PartForm(Generic[P]):
    """The part files of one protocol.

    `describe(part)` gives the facts and arrays that a file of this protocol has besides, `read(facts, arrays)` makes
    the part of them and raises what UNREADABLE has for one that nobody can predict with; `unlike` names what two parts
    of one model cannot differ in, and do. `usual` are facts that files of earlier releases do not say.
    """

    format: FileFormat
    kind: str
    describe: Callable[[P], tuple[Facts, Arrays]]
    read: Callable[[Facts, Arrays], P]
    unlike: Callable[[P, P], list[str]]
    usual: Facts
    for_trees: bool = False

    def save(self, folder: Path, job: ColumnsJob, part: P, columns: ColumnSpecs) -> None:
        """Write `folder`/PARTY.npz, whole or not at all, mode 600; `folder` is made where it is missing, mode 700.

        `columns` is the job's description, with the fills that this party's own rows gave.
        """
        facts, arrays = self.describe(part)
        metadata = {
            "format": self.format.newest,
            "hekat": this_release(),
            "job": job.name,
            **facts,
            "party": part.party,
            "guest": part.guest,
            "model_id": part.model_id,
            "hosts": list(part.hosts),
            "classes": None if part.classes is None else list(part.classes),
            "columns": list(part.columns),
            "column_specs": columns.of_features().to_json(),
            "sparse": job.sparse,
            "intersection": job.intersection_kind,
            "intersection_key_bits": DEFAULT_KEY_BITS if job.intersection is None else job.intersection.key_bits,
        }
        with disk_errors_as_state_errors(f"{folder} could not be written"):
            folder.mkdir(mode=0o700, exist_ok=True)
        replace_file(folder / f"{part.party}.npz", encode_arrays(self.kind, metadata, arrays))

    def load(self, path: Path) -> SavedPart[P]:
        """The part in the file at `path`. Raises StateError where it is not there, damaged, or of another form."""
        what = f"model part {path}"
        metadata, arrays = decode_arrays(read_file(path), self.kind, what)
        self.format.check(metadata.get("format"), what, StateError)
        try:
            described = {**self.usual, **metadata}
            _check_described(described)
            specs = replace(ColumnSpecs.from_json(described["column_specs"]), for_trees=self.for_trees)
            return SavedPart(
                self.read(described, arrays),
                specs,
                described["sparse"],
                described["intersection"],
                described["job"],
                described["intersection_key_bits"],
            )
        except UNREADABLE as error:
            raise StateError(
                f"{what} does not say how to predict",
                expected="parties, columns and weights that fit each other",
                got=flaw_of(error),
                cure="restore it from a copy, or train again",
            ) from None

    def load_all(self, run_folder: Path) -> dict[str, SavedPart[P]]:
        """Every party's part that lies in a run's folder, the guest's first, then in the order of hosts.

        Raises StateError where one is missing: a part is of no use without the others.
        """
        folder = run_folder / PARTS_FOLDER
        with disk_errors_as_state_errors(f"{folder} cannot be read"):
            paths = sorted(folder.glob("*.npz"))
        found = {saved.part.party: saved for saved in map(self.load, paths)}
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
        self._check_alike(folder, list(found.values()))
        return {party: found[party] for party in parties}

    def load_own(self, run_folder: Path, party: str) -> SavedPart[P]:
        """The part of `party`, which alone need lie in its run's folder. Raises StateError where none of its does."""
        path = run_folder / PARTS_FOLDER / f"{party}.npz"
        if not path.is_file():
            raise StateError(
                f"{run_folder} does not hold the part of {party}",
                expected=f"{PARTS_FOLDER}/{party}.npz, of a run that finished",
                got="no such file",
                cure="name the folder of this role's own run; if it stopped early, go on with --resume",
            )
        saved = self.load(path)
        if saved.part.party != party:
            raise StateError(
                f"model part {path} is another party's",
                expected=f"the part of {party}",
                got=f"the part of {saved.part.party}",
                cure="put the run's folder back as it was left",
            )
        return saved

    def _check_alike(self, folder: Path, saved: Sequence[SavedPart[P]]) -> None:
        """Raise StateError where parts say different things of what all parties agreed on."""
        first = saved[0]
        for other in saved[1:]:
            names = self.unlike(first.part, other.part)
            names += [name for name in _SAVED_ALIKE if getattr(first, name) != getattr(other, name)]
            if names:
                raise StateError(
                    f"parts in {folder} say different things of one model",
                    expected=f"the same {', '.join(names)} in the parts of {first.part.party} and {other.part.party}",
                    got="others",
                    cure="put the run's folder back as it was left, or train again",
                )


def shared_facts(described: Facts) -> dict[str, Any]:
    """What every part is made of: its owner, the parties, classes, columns, and the model's name."""
    classes = described["classes"]
    return {
        "party": described["party"],
        "guest": described["guest"],
        "model_id": described["model_id"],
        "hosts": tuple(described["hosts"]),
        "classes": None if classes is None else tuple(classes),
        "columns": tuple(described["columns"]),
    }


def check_texts(texts: Sequence[object]) -> None:
    """Raise ValueError unless all are texts that a terminal shows as they are."""
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("names that are no texts")
    if any(control_character(str(text)) for text in texts):
        raise ValueError("names with control characters")


def _check_described(described: Facts) -> None:
    """Raise ValueError for what a part's file says of parties and rows, where that has another type or cannot be."""
    check_texts([described[name] for name in ("party", "guest", "model_id", "job")])
    check_names("parties", [described["guest"], *_listed("hosts", described["hosts"])])
    check_names("columns", described["columns"])
    if described["classes"] is not None:
        check_names("classes", described["classes"])
        if len(described["classes"]) < 2:
            raise ValueError("fewer than two classes")
    if described["party"] not in (described["guest"], *described["hosts"]):
        raise ValueError("a part of no party")
    if type(described["intersection_key_bits"]) is not int:
        raise ValueError("bits that are no whole numbers")
    if not 0 < described["intersection_key_bits"] <= MAX_INTERSECTION_KEY_BITS:
        raise ValueError("bits of a key that no intersection has")
    if described["intersection"] not in (ALIGNED, *KINDS) or not isinstance(described["sparse"], bool):
        raise ValueError("no way to read rows by")


def _listed(what: str, names: object) -> list[Any]:
    if not isinstance(names, list) or not names:
        raise ValueError(f"no {what}")
    return names


def read_label_privacy(described: Facts) -> float | None:
    """The epsilon by which labels of a part's training were replaced. Raises ValueError for one that cannot be, and for
    one of numbers."""
    epsilon = described["label_privacy"]
    if epsilon is None:
        return None
    if type(epsilon) not in (int, float) or not MIN_EPSILON <= epsilon <= MAX_EPSILON:
        raise ValueError("label privacy of no epsilon")
    if described["classes"] is None:
        raise ValueError("label privacy of numbers")
    return float(epsilon)
