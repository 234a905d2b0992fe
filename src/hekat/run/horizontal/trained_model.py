"""A trained model as files: an .npz that plain NumPy opens, and for PyTorch safetensors that a plain module loads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from hekat.data import ColumnSpecs
from hekat.errors import InputError, StateError, missing_extra
from hekat.job.horizontal.job_file import Job
from hekat.job.model_source import PartyModel
from hekat.model import Parameters
from hekat.model.torch_model import TorchModel
from hekat.protocol.horizontal.training.line_search import penalty_of
from hekat.protocol.horizontal.training.standardise import Standardiser
from hekat.protocol.horizontal.training.trained_tensors import CONTROL
from hekat.protocol.horizontal.training.training_state import SEEN, TrainingState
from hekat.run.model_file_checks import UNREADABLE, are_parameters, check_names, flaw_of
from hekat.run.predictions import source_columns_of
from hekat.state import load_model, replace_file, save_model
from hekat.state.array_file import check_array_name
from hekat.state.file_format import FileFormat

MODEL_FILE = "model.npz"
TENSORS_FILE = "model.safetensors"
# Format 1 (release 0.1.0) had no columns to encode, no sparse rows, and models of Hekat's own alone.
MODEL_FORMAT = FileFormat("model", ("0.1.0", "0.2.0"))
_MEAN, _SPREAD, _FILL = "standardiser/mean", "standardiser/spread", "standardiser/fill"
_MOST_LAYERS = 1000
# What stands beside a model's tensors in its file and in an update.
_TAKEN = ("standardiser/", CONTROL, SEEN)
_PREDICT = "standardise: (x - standardiser/mean) / standardiser/spread, then the model"
_FILL_FIRST = "empty cells: standardiser/fill, where columns have one; "


@dataclass(frozen=True)
class TrainedModel:
    """All that predicting needs. `columns` are the model's features in their order, `code` the SHA-256 of the site's
    code, empty for a model of Hekat's own."""

    name: str
    hidden: tuple[int, ...]
    l2: float
    classes: tuple[str, ...] | None
    columns: tuple[str, ...]
    parameters: Parameters = field(repr=False)
    standardiser: Standardiser = field(repr=False)
    column_specs: ColumnSpecs = field(default_factory=ColumnSpecs)
    sparse: bool = False
    code: str = ""

    @property
    def source_columns(self) -> tuple[str, ...]:
        """The columns that a table has before categories are encoded."""
        return source_columns_of(self.columns, self.column_specs)


def save_trained_model(
    folder: Path, job: Job, state: TrainingState, feature_names: tuple[str, ...], made: PartyModel
) -> None:
    """Write model.npz into `folder`, and model.safetensors where `made` is a PyTorch model. Raises StateError."""
    settings, standardiser = job.settings, state.standardiser
    metadata = describe_model(
        job=job.name,
        model=settings.model.name,
        hidden=settings.model.hidden,
        l2=settings.model.own_l2 + penalty_of(state.optimiser_state),
        classes=settings.classes,
        columns=feature_names,
        column_specs=job.columns,
        rounds=state.rounds_done,
        sparse=job.sparse,
        code=made.code,
        fills=standardiser.fill is not None,
    )
    prepared = {_MEAN: standardiser.mean, _SPREAD: standardiser.spread}
    if standardiser.fill is not None:
        prepared[_FILL] = standardiser.fill
    arrays = {**standardiser.in_label_units(made.model, state.parameters), **prepared}
    save_model(folder / MODEL_FILE, arrays, metadata)
    if isinstance(made.model, TorchModel):
        beside = {**metadata, **{name: values.tolist() for name, values in prepared.items()}}
        content = _encode_tensors(made.model.state_dict(state.parameters), beside)
        replace_file(folder / TENSORS_FILE, content)


def describe_model(
    *,
    job: str,
    model: str,
    l2: float,
    classes: tuple[str, ...] | None,
    columns: tuple[str, ...],
    column_specs: ColumnSpecs,
    rounds: int,
    hidden: tuple[int, ...] = (),
    sparse: bool = False,
    code: str = "",
    fills: bool = False,
) -> dict[str, Any]:
    """What stands beside the arrays of a model's file; `fills`: an array has what stands for empty cells."""
    return {
        "format": MODEL_FORMAT.newest,
        "hekat": version("hekat"),
        "job": job,
        "model": model,
        "hidden": list(hidden),
        "l2": l2,
        "classes": list(classes) if classes is not None else None,
        "columns": list(columns),
        "column_specs": column_specs.of_features().to_json(),
        "sparse": sparse,
        "code": code,
        "rounds": rounds,
        "predict": _FILL_FIRST + _PREDICT if fills else _PREDICT,
    }


def save_standardised_model(
    folder: Path, metadata: Mapping[str, Any], parameters: Parameters, standardiser: Standardiser
) -> None:
    """Write model.npz of these parameters of standardised columns into `folder`. Raises StateError."""
    arrays = {**parameters, _MEAN: standardiser.mean, _SPREAD: standardiser.spread}
    save_model(folder / MODEL_FILE, arrays, metadata)


def check_can_export(made: PartyModel) -> None:
    """Raise InputError, with the cure, where the model could not be written at the end of training."""
    for name in made.model.parameter_shapes:
        check_array_name(name)
        if name.startswith(_TAKEN):
            raise InputError(
                f"model {made.model.name} has a tensor with a reserved name",
                expected=f"names that do not begin with {' or '.join(_TAKEN)}",
                got=repr(name),
                cure="rename it in the model's code",
            )
    if isinstance(made.model, TorchModel):
        _import_safetensors()


def load_trained_model(path: Path) -> TrainedModel:
    """The model in the file at `path`, or in the run's folder at `path`.

    Raises StateError where it is not there, damaged, or of another form.
    """
    file = path / MODEL_FILE if path.is_dir() else path
    arrays, metadata = load_model(file)
    return read_trained_model(arrays, metadata, f"model {file}")


def read_trained_model(arrays: Mapping[str, Any], metadata: Mapping[str, Any], where: str) -> TrainedModel:
    """The model of a file with these arrays and metadata. Raises StateError for one that no run wrote."""
    MODEL_FORMAT.check(metadata.get("format"), where, StateError)
    try:
        return _read(arrays, metadata)
    except UNREADABLE as error:
        raise StateError(
            f"{where} does not say how to predict",
            expected="columns, classes, standardiser and parameters that fit each other",
            got=flaw_of(error),
            cure="restore it from a copy, or train again",
        ) from None


def _read(arrays: Mapping[str, Any], metadata: Mapping[str, Any]) -> TrainedModel:
    parameters = {name: values for name, values in arrays.items() if name not in (_MEAN, _SPREAD, _FILL)}
    columns, classes, hidden = metadata["columns"], metadata["classes"], metadata["hidden"]
    specs = ColumnSpecs.from_json(metadata.get("column_specs", {}))
    check_names("columns", columns)
    if classes is not None:
        check_names("classes", classes)
    if not isinstance(metadata["model"], str):
        raise ValueError("a model without a name")
    check_vocabulary(specs, columns)
    if not (isinstance(hidden, list) and len(hidden) <= _MOST_LAYERS and all(type(size) is int for size in hidden)):
        raise ValueError("hidden layers that no job has")
    mean, spread, fill = arrays[_MEAN], arrays[_SPREAD], arrays.get(_FILL)
    if fill is not None and not (fill.shape == mean.shape and np.isfinite(fill).all()):
        raise ValueError("fills of other columns")
    if not (mean.shape == spread.shape == (len(columns),) and (spread > 0).all()):
        raise ValueError("a standardiser of other columns")
    for values in (mean, spread, *parameters.values()):
        if not are_parameters(values):
            raise ValueError("parameters beyond reason, or no numbers")
    sparse, code = metadata.get("sparse", False), metadata.get("code", "")
    if not (isinstance(sparse, bool) and isinstance(code, str)):
        raise ValueError("sparse or code of another type")
    return TrainedModel(
        name=metadata["model"],
        hidden=tuple(hidden),
        l2=float(metadata["l2"]),
        classes=None if classes is None else tuple(classes),
        columns=tuple(columns),
        parameters=parameters,
        standardiser=Standardiser(mean, spread, fill),
        column_specs=specs,
        sparse=sparse,
        code=code,
    )


def check_vocabulary(specs: ColumnSpecs, columns: Sequence[str]) -> None:
    """Raise ValueError where a category that the file describes is no column of the model: its rows would be lost."""
    known = set(columns)
    for spec in (spec for spec in specs if not spec.is_pattern):
        resolved = specs.find(spec.name)
        if resolved is not None and not known.issuperset(resolved.feature_names):
            raise ValueError("a description of columns that the model does not have")


def _encode_tensors(tensors: Mapping[str, Any], metadata: Mapping[str, Any]) -> bytes:
    content: bytes = _import_safetensors().save(dict(tensors), {"hekat": json.dumps(metadata, sort_keys=True)})
    return content


def _import_safetensors() -> Any:
    try:
        import safetensors.torch
    except ImportError as error:
        raise missing_extra("safetensors is not installed", "torch", error) from None
    return safetensors.torch
