"""Uses a trained model on new rows: finds their columns by name, transforms them as in training, writes answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from hekat.data import ColumnSpecs, Table, is_dense, load_table
from hekat.data.columns.encode import notes_of_cells
from hekat.data.columns.findings import ColumnsRefusedError
from hekat.errors import InputError, JobError
from hekat.job.data_source import DataSource
from hekat.job.model_source import PartyModel, find_model_source, load_own_model
from hekat.job.site_file import PartySite, Site
from hekat.model import MODEL_NAMES, evaluate, make_model
from hekat.model.answers import answers_of
from hekat.model.parameters import check_same_shapes
from hekat.run.horizontal.trained_model import TrainedModel
from hekat.run.horizontal_trees.trained_trees import TrainedTrees
from hekat.run.predictions import Predictions, check_none_missing, without_strangers
from hekat.summary.metrics_of_outputs import metrics_of_outputs

_CURE_OF_CELLS = (
    "correct the cells; what stands for empty cells and unknown texts is part of the model: to change it, say fill or "
    "unknown under [columns.NAME] in the job and train again; where dates became days in training, name their columns "
    "under dates in the site file"
)


class ReadsRows(Protocol):
    """What reading rows takes of a model, whichever it is."""

    @property
    def columns(self) -> tuple[str, ...]: ...

    @property
    def source_columns(self) -> tuple[str, ...]: ...

    @property
    def classes(self) -> tuple[str, ...] | None: ...

    @property
    def column_specs(self) -> ColumnSpecs: ...

    @property
    def sparse(self) -> bool: ...


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
    table, ignored = load_rows_of_model(trained, source, folder)
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
        ignored=ignored,
        metrics={} if table.labels is None else evaluate(model, parameters, features, table.labels),
        notes=notes_of_cells(table),
    )


def predict_with_trees(trained: TrainedTrees, source: DataSource, folder: Path) -> Predictions:
    """The same with trees, which take columns as they are, and empty cells too."""
    table, ignored = load_rows_of_model(trained, source, folder)
    scores = trained.raw_scores(table.features)
    answers, probabilities = answers_of(trained.classes, scores)
    return Predictions(
        classes=trained.classes,
        answers=answers,
        probabilities=probabilities,
        ids=table.ids,
        ignored=ignored,
        metrics={} if table.labels is None else metrics_of_outputs(trained.classes, scores, table.labels),
        notes=notes_of_cells(table),
    )


def load_rows_of_model(trained: ReadsRows, source: DataSource, folder: Path) -> tuple[Table, tuple[str, ...]]:
    """The rows of `source` with the model's columns in its order, and the columns that it does not know.

    Raises InputError that names columns which are missing.
    """
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
    return table, (*ignored, *more)


def _arrange(trained: ReadsRows, table: Table) -> tuple[Table, tuple[str, ...]]:
    """The model's columns in its order, and the names of those that it does not know."""
    position = {name: number for number, name in enumerate(table.feature_names)}
    check_none_missing([name for name in trained.columns if name not in position], table.feature_names)
    if table.feature_names == trained.columns:
        return table, ()
    order = [position[name] for name in trained.columns]
    known = set(trained.columns)
    strangers = tuple(name for name in table.feature_names if name not in known)
    return replace(table, features=table.features[:, order], feature_names=trained.columns), strangers


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
            got=f"others for {broken.size:,} rows, row {int(broken[0]) + 1} first",
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
