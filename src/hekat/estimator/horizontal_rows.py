"""Rows of several parties as scikit-learn's callers give them, for every horizontal estimator: tables with labels,
classes of all parties, columns of `fit` in rows to predict, and what each party keeps of its sums."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets

from hekat.data import Table, check_finite, is_dataframe
from hekat.data.features import Features
from hekat.errors import InputError
from hekat.estimator.data_frames import align_labels, first_of, plain_labels
from hekat.estimator.party_tables import as_table
from hekat.protocol.secure_sum.masked.upload_state import UploadState, open_upload_state
from hekat.protocol.secure_sum.settings import SumSettings


def read_tables(X: Any, y: Any, *, may_lack_values: bool = False) -> dict[str, Table]:
    """Every party's table with its labels as they are given; with `may_lack_values` cells may be NaN.

    Raises InputError.
    """
    if not isinstance(X, Mapping) or not X or not (y is None or isinstance(y, Mapping)):
        raise InputError(
            "rows of several parties are needed",
            expected="fit({party: rows}, {party: labels}), or fit({party: (rows, labels)})",
            got=f"X of type {type(X).__name__}, y of type {type(y).__name__}",
            cure="name each party's rows and labels",
        )
    tables: dict[str, Table] = {}
    for party, given in X.items():
        rows, labels = given if isinstance(given, tuple) else (given, None)
        if labels is None:
            labels = y.get(party) if y is not None else getattr(rows, "labels", None)
        table = as_table(rows, str(party))
        if not may_lack_values:
            check_finite(table)
        labels = None if labels is None else plain_labels(align_labels(labels, rows, str(party)), str(party))
        if labels is None or labels.shape != (len(table),):
            raise InputError(
                f"labels of {party} do not fit its rows",
                expected=f"one label for each of {len(table):,} rows",
                got="none" if labels is None else f"shape {labels.shape}",
                cure=f"give labels under {party!r} in y",
            )
        tables[str(party)] = replace(table, labels=labels)
    return tables


def encode_classes(tables: Mapping[str, Table]) -> tuple[dict[str, Table], npt.NDArray[Any]]:
    """(tables with the numbers of classes, the sorted labels of all parties). Raises InputError for one class alone."""
    labels = {name: np.asarray(table.labels) for name, table in tables.items()}
    together = np.concatenate(list(labels.values()))
    check_classification_targets(together)
    classes = np.unique(together)
    if len(classes) < 2:
        raise InputError(
            "all parties together have rows of one class only",
            expected="rows of at least 2 classes",
            got="1 class",
            cure="check y",
        )
    encoded = {
        name: replace(table, labels=np.searchsorted(classes, labels[name]).astype(np.int64))
        for name, table in tables.items()
    }
    return encoded, classes


def encode_numbers(tables: Mapping[str, Table]) -> dict[str, Table]:
    """Tables whose labels are float64. Raises InputError for texts."""
    for name, table in tables.items():
        if np.asarray(table.labels).dtype.kind not in "biuf":
            raise InputError(
                f"labels of {name} are no numbers",
                expected="numbers, for a regression",
                got="texts",
                cure="give numbers, or take a classifier",
            )
    return {name: replace(table, labels=np.asarray(table.labels, dtype=np.float64)) for name, table in tables.items()}


def keep_names(estimator: Any, X: Mapping[Any, Any], tables: Mapping[str, Table]) -> None:
    """Keep the columns' names where the parties' rows had some, as scikit-learn does: `feature_names_in_`."""
    first, given = next(iter(X.items()))
    rows = given[0] if isinstance(given, tuple) else given
    if is_dataframe(rows) or isinstance(rows, Table):
        estimator.feature_names_in_ = np.array(tables[str(first)].feature_names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def features_of_fit(estimator: Any, X: Any, table: Table) -> Features:
    """The features of `table`, made of `X`, in the order of the columns of `fit`.

    Raises InputError for other columns.
    """
    features, names = table.features, table.feature_names
    known = getattr(estimator, "feature_names_in_", np.array(names)).tolist()
    has_names = is_dataframe(X) or isinstance(X, Table)
    if features.shape[1] != estimator.n_features_in_ or (has_names and set(names) != set(known)):
        raise InputError(
            "X has other columns than the model",
            expected=f"{estimator.n_features_in_} columns" + (f": {first_of(known)}" if has_names else ""),
            got=str(features.shape[1]) + (f": {first_of(names)}" if has_names else ""),
            cure="give the columns of fit" + ("" if has_names else ", in their order"),
        )
    return features[:, [names.index(name) for name in known]] if has_names and list(names) != known else features


def open_states(settings: SumSettings, stack: ExitStack) -> dict[str, UploadState]:
    """Upload numbers of each party for this one run; its keys end with it."""
    if settings.protection != "lattice":
        return {}
    place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hekat-estimator-")))
    digest = hashlib.sha256(repr(settings).encode()).digest()
    states = {}
    for name in settings.parties:
        states[name] = open_upload_state(place / name, digest, durable=False, with_run=True)
        stack.enter_context(states[name].uploads)
    return states
