"""`hekat predict` with the model of a horizontal run: the rows of a file or of a source, for their owner alone."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from hekat.cli.new_file import check_is_free, write_new
from hekat.cli.predict.separators import SEPARATORS
from hekat.data import CsvDialect
from hekat.data.profile.csv_form import find_dialect
from hekat.data.profile.table_profile import profile_csv
from hekat.errors import InputError, StateError
from hekat.job.data_source import DataSource
from hekat.job.site_file import Site, load_site
from hekat.printable import printable
from hekat.run.horizontal.predict import find_named_source, predict, predict_with_trees, rebuild_model
from hekat.run.horizontal.trained_model import MODEL_FILE, TrainedModel
from hekat.run.horizontal_trees.trained_trees import TrainedTrees
from hekat.run.load_any_model import load_any_model
from hekat.run.predictions import Predictions
from hekat.state import cure_of_parent

_KINDS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".xlsx": "excel",
    ".npz": "npz",
    ".libsvm": "libsvm",
    ".svm": "libsvm",
}
_TABULAR = ("csv", "parquet", "excel")
_WITH_DATA = (
    "with --data it is said on the command line: --label, --id, --ignore, --dates, --date-format, --separator, "
    "--decimal; "
    "for anything else name the file in a site file: --site, --source"
)


def predict_horizontal(options: argparse.Namespace) -> int:
    """Predict for the rows of a file, or of a source of the site file, with a model.npz."""
    _check_options(options)
    trained = load_any_model(options.model)
    site = None if options.site is None else load_site(options.site)
    source, folder = _find_rows(options, trained, site)
    model = None if isinstance(trained, TrainedTrees) else rebuild_model(trained, site, options.party)
    try:
        if isinstance(trained, TrainedTrees):
            predictions = predict_with_trees(trained, source, folder)
        else:
            assert model is not None  # made above
            predictions = predict(trained, model, source, folder)
    except InputError as error:
        if options.data is not None and "site file" in error.cure:
            error.add_note(_WITH_DATA)
        raise
    if options.out is not None:
        write_new(options.out, predictions.to_csv(), force=options.force)
    _show(options, trained, source, predictions)
    return 0


def _check_options(options: argparse.Namespace) -> None:
    """Raise InputError or StateError for what can be refused before anything is read."""
    if options.site is None and (options.source is not None or options.party is not None):
        _refuse("--source and --party name entries of a site file", "--site FILE beside them", "no site file")
    of_file = ("id", "label", "ignore", "dates", "date_format", "separator", "decimal")
    if options.data is None and any(getattr(options, name) for name in of_file):
        _refuse(
            "--id, --label, --ignore, --dates, --date-format, --separator and --decimal describe a file",
            "--data FILE beside them",
            "--source, which the site file describes",
        )
    if options.date_format and not options.dates:
        _refuse("--date-format says how dates are written", "--dates COLUMN beside it", "none")
    if options.model.is_dir() and not (options.model / MODEL_FILE).exists():
        raise StateError(
            f"{options.model} holds no trained model",
            expected=f"the folder of a run that finished, with {MODEL_FILE}",
            got=f"no {MODEL_FILE}",
            cure=cure_of_parent(options.model, "if the run stopped early, go on with: hekat run JOB --resume RUN"),
        )
    if any(one is not None for one in (options.receivers, options.score_bits, options.passphrase_file)):
        what = "--receivers, --score-bits and --passphrase-file are for joint prediction"
        _refuse(what, "the folder of a vertical run, or of an encrypted model", "another")
    if options.out is not None:
        check_is_free(options.out, force=options.force)


def _find_rows(
    options: argparse.Namespace, trained: TrainedModel | TrainedTrees, site: Site | None
) -> tuple[DataSource, Path]:
    """The rows' source, and the folder that its paths are relative to."""
    if options.data is None and site is not None:
        return find_named_source(site, options.party, options.source), site.folder
    path: Path = options.data
    kind = _KINDS.get(path.suffix.lower())
    if kind is None:
        _refuse("the data file has an ending that says nothing", f"one of {', '.join(_KINDS)}", repr(path.suffix))
    given: dict[str, Any] = {"path": str(path)}
    if kind in _TABULAR:
        given |= {"label": options.label, "id": options.id, "ignore": tuple(options.ignore)}
        given |= {"dates": tuple(options.dates)} if options.dates else {}
        given |= {"date_format": options.date_format} if options.date_format else {}
    elif options.label or options.id or options.ignore or options.dates:
        what = "--label, --id, --ignore and --dates name columns of a table"
        _refuse(what, "a .csv, .tsv, .parquet or .xlsx file", path.suffix)
    if kind == "csv":
        given |= _dialect_options(options, path)
    elif options.separator or options.decimal:
        _refuse("--separator and --decimal belong to .csv files", "a .csv or .tsv file", path.suffix)
    if kind == "libsvm":
        given["columns"] = len(trained.columns)
    return DataSource(str(kind), given), Path()


def _dialect_options(options: argparse.Namespace, path: Path) -> dict[str, str]:
    """How a CSV file is written: as the command says; where it says nothing, as the file itself shows."""
    if options.separator or options.decimal:
        separator = options.separator or ("tab" if path.suffix.lower() == ".tsv" else "comma")
        return {"separator": SEPARATORS.get(separator, separator), "decimal": options.decimal or "."}
    dialect = find_dialect(path)
    if dialect.separator != CsvDialect().separator:
        # Decimal commas stand beside other separators; what is written with each is seen in the whole file alone.
        dialect = profile_csv(path).dialect
    return {"separator": dialect.separator, "decimal": dialect.decimal, "encoding": dialect.encoding}


def _show(
    options: argparse.Namespace, trained: TrainedModel | TrainedTrees, rows: DataSource, predictions: Predictions
) -> None:
    summary: dict[str, Any] = {
        "model": trained.name,
        "rows": len(predictions),
        "predicted": predictions.count_classes(),
        "metrics": predictions.metrics,
        "ignored_columns": list(predictions.ignored),
        "notes": list(predictions.notes),
        "out": None if options.out is None else str(options.out),
    }
    if options.json:
        sys.stdout.write(json.dumps(summary, indent=1) + "\n")
        return
    lines = [f"{len(predictions):,} rows predicted with model {trained.name}"]
    if options.data is not None and rows.kind == "csv" and (form := CsvDialect.of_options(rows.options).in_words):
        lines[0] += f"; read with {', '.join(form)}"
    if predictions.classes is not None:
        lines.append("predicted: " + ", ".join(f"{name} {count}" for name, count in summary["predicted"].items()))
    if predictions.ignored:
        lines.append(f"columns that the model does not know, ignored: {', '.join(predictions.ignored)}")
    lines += predictions.notes
    lines += [f"{name} {value:.6g}" for name, value in predictions.metrics.items()]
    lines.append(f"written to {options.out}, mode 600" if options.out else "nothing is written: say --out FILE.csv")
    sys.stdout.writelines(f"{printable(line)}\n" for line in lines)


def _refuse(what: str, expected: str, got: str) -> None:
    raise InputError(what, expected=expected, got=got, cure="correct the command: hekat predict --help")
