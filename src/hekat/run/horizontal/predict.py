"""Uses a trained model on new rows: finds their columns by name, transforms them as in training, writes answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from hekat.data import Ids, Table, id_column_names, is_dense, load_table, named_columns
from hekat.data.columns.encode import notes_of_cells
from hekat.data.columns.findings import ColumnsRefusedError
from hekat.data.sources.csv_text import csv_bytes
from hekat.errors import InputError, JobError
from hekat.first_few import first_few
from hekat.job.data_source import DataSource
from hekat.job.model_source import PartyModel, find_model_source, load_own_model
from hekat.job.site_file import PartySite, Site
from hekat.model import MODEL_NAMES, FloatArray, Labels, evaluate, make_model
from hekat.model.parameters import check_same_shapes
from hekat.run.horizontal.trained_model import TrainedModel

_MOST_NAMES_SHOWN = 8
_CURE_OF_CELLS = (
    "correct the cells; what stands for empty cells and unknown texts is part of the model: to change it, say fill or "
    "unknown under [columns.NAME] in the job and train again; where dates became days in training, name their columns "
    "under dates in the site file"
)


@dataclass(frozen=True)
class Predictions:
    """One answer a row, in the order of the rows. `probabilities` have shape (rows, classes), None for a regression;
    `ignored` are columns of the source that the model does not know; `metrics` are empty without labels; `notes` count
    the cells that were filled or hold no category of the model."""

    classes: tuple[str, ...] | None
    answers: Labels = field(repr=False)
    probabilities: FloatArray | None = field(repr=False)
    ids: Ids | None = field(repr=False)
    ignored: tuple[str, ...]
    metrics: dict[str, float]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.answers.shape[0])

    def to_csv(self) -> bytes:
        """A header and a line for each row: id where there is one (several: by their names), prediction,
        probability_CLASS for each class."""
        return csv_bytes(self._lines())

    def _lines(self) -> Iterator[Sequence[str]]:
        classes = self.classes or ()
        rows = [()] * len(self) if self.ids is None else self.ids.to_rows()
        head: tuple[str, ...] = () if self.ids is None else self.ids.names if len(self.ids.names) > 1 else ("id",)
        yield [*head, "prediction", *(f"probability_{name}" for name in classes)]
        for row, answer in enumerate(self.answers.tolist()):
            cells = [*rows[row]]
            cells.append(self.classes[answer] if self.classes is not None else repr(answer))
            if self.probabilities is not None:
                cells += [repr(value) for value in self.probabilities[row].tolist()]
            yield cells

    def count_classes(self) -> dict[str, int]:
        """How many rows each class was predicted for; empty for a regression."""
        return {name: int(np.sum(self.answers == number)) for number, name in enumerate(self.classes or ())}


def rebuild_model(trained: TrainedModel, site: Site | None, party: str | None) -> PartyModel:
    """The model of a file: Hekat's own by its name, else from the code that the site keeps for `party` or for all.

    Raises JobError where the site has no such code, InputError where its code or tensors differ from training.
    """
    column_count = len(trained.columns)
    class_count = None if trained.classes is None else len(trained.classes)
    if trained.name in MODEL_NAMES:
        made = PartyModel(make_model(trained.name, column_count, class_count, hidden=trained.hidden, l2=trained.l2))
    else:
        if site is None:
            raise JobError(
                f"model {trained.name} is a site's own code, which the model file does not hold",
                expected="--site FILE, a site file that maps the name to its code",
                got="no site file",
                cure="add --site (and --party, where each has its own), or load model.safetensors in your own code",
            )
        own = {} if party is None else _party_of(site, party).models
        source = find_model_source(own, site.common_models, trained.name)
        made = load_own_model(
            trained.name, source, site.folder, column_count=column_count, class_count=class_count, l2=trained.l2
        )
        if made.code != trained.code:
            raise InputError(
                f"the code of model {trained.name} is not the code it was trained with",
                expected=f"a file of SHA-256 {trained.code[:16]}...",
                got=f"SHA-256 {made.code[:16]}...",
                cure="give the file as it was, byte for byte",
            )
    check_same_shapes("the model file", trained.parameters, made.model.parameter_shapes)
    return made


def find_named_source(site: Site, party: str | None, name: str) -> DataSource:
    """The data that the site calls `name`, at `party` or common to all. Raises JobError."""
    own = {} if party is None else _party_of(site, party).data
    known = {**site.common_data, **own}
    if name not in known:
        raise JobError(
            f"the site file has no data called {name!r} for {party or 'all parties'}",
            expected=f"one of {', '.join(sorted(known))}" if known else "a table, and it names none",
            got=name,
            cure="correct --source, or name the party whose data it is: --party",
        )
    return known[name]


def predict(trained: TrainedModel, made: PartyModel, source: DataSource, folder: Path) -> Predictions:
    """Load the rows of `source` (paths relative to `folder`), standardise and predict them. Raises InputError that
    names columns which are missing."""
    source, ignored = without_strangers(trained.source_columns, source, folder)
    try:
        table = load_table(
            source.kind,
            source.options,
            folder,
            name="the data",
            classes=trained.classes,
            columns=trained.column_specs,
            sparse=trained.sparse,
            for_training=False,
        )
    except ColumnsRefusedError as error:
        # What the job said is part of the model: no line added to the job helps.
        cure = error.cure if "decimal" in error.cure else _CURE_OF_CELLS
        raise InputError(error.what, expected=error.expected, got=error.got, cure=cure) from None
    table, more = _arrange(trained, table)
    features = trained.standardiser.apply(table.features)
    _check_finite(features)
    model, parameters = made.model, trained.parameters
    answers = model.predict(parameters, features)
    probabilities = None if trained.classes is None else model.predict_proba(parameters, features)
    _check_answers(answers if probabilities is None else probabilities)
    return Predictions(
        classes=trained.classes,
        answers=answers,
        probabilities=probabilities,
        ids=table.ids,
        ignored=(*ignored, *more),
        metrics={} if table.labels is None else evaluate(model, parameters, features, table.labels),
        notes=notes_of_cells(table),
    )


def without_strangers(wanted: tuple[str, ...], source: DataSource, folder: Path) -> tuple[DataSource, tuple[str, ...]]:
    """`source` without columns that are not `wanted` by a model, which may hold anything, and their names.

    Raises InputError where a wanted column is missing.
    """
    present = named_columns(source.kind, source.options, folder)
    if present is None:
        return source, ()
    options = source.options
    taken = {*options.get("ignore", ()), options.get("label"), *id_column_names(options.get("id"))}
    known = set(wanted)
    _check_none_missing([name for name in wanted if name not in present or name in taken], present)
    strangers = tuple(name for name in present if name not in known and name not in taken)
    known_alone = {**options, "ignore": (*options.get("ignore", ()), *strangers)}
    return replace(source, options=known_alone), strangers


def _arrange(trained: TrainedModel, table: Table) -> tuple[Table, tuple[str, ...]]:
    """The model's columns in its order, and the names of those that it does not know."""
    position = {name: number for number, name in enumerate(table.feature_names)}
    _check_none_missing([name for name in trained.columns if name not in position], table.feature_names)
    if table.feature_names == trained.columns:
        return table, ()
    order = [position[name] for name in trained.columns]
    known = set(trained.columns)
    strangers = tuple(name for name in table.feature_names if name not in known)
    return replace(table, features=table.features[:, order], feature_names=trained.columns), strangers


def _check_none_missing(missing: list[str], present: tuple[str, ...]) -> None:
    if missing:
        shown = first_few([*map(repr, missing)], _MOST_NAMES_SHOWN)
        raise InputError(
            "the data lacks columns of the model",
            expected="every column that the model was trained on, by its name",
            got=f"{len(present)} columns, without {shown}",
            cure="add them, or rename columns; order does not matter, and columns beside them are ignored",
        )


def _check_finite(features: Any) -> None:
    if not np.isfinite(features if is_dense(features) else features.data).all():
        raise InputError(
            "the data has values too large to standardise", expected="magnitudes as in training", got="an infinite one"
        )


def _check_answers(found: Any) -> None:
    """Raise InputError, with the row, where a model gives no finite number. A float32 model has a smaller range than
    rows, and the first class would be a wrong answer then.
    """
    broken = np.flatnonzero(~np.isfinite(found.reshape(found.shape[0], -1)).all(axis=1))
    if broken.size:
        raise InputError(
            "the model gives no finite answer",
            expected="finite numbers from the model, for every row",
            got=f"others for {broken.size} rows, row {int(broken[0]) + 1} first",
            cure="look for values in these rows far beyond the values in training",
        )


def _party_of(site: Site, party: str) -> PartySite:
    if party not in site.parties:
        raise JobError(
            f"the site file knows no party {party!r}",
            expected=f"one of {', '.join(sorted(site.parties)) or 'none'}",
            got=party,
            cure="correct --party",
        )
    return site.parties[party]
