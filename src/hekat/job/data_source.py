"""One data source of a site file: its kind, and the options that kind has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hekat.data import DECIMALS, SEPARATORS, SOURCE_KINDS
from hekat.errors import JobError
from hekat.job.section import Section


@dataclass(frozen=True)
class DataSource:
    """One named table: its kind and those options of the kind that are said; paths are relative to the site file.

    `allowed_columns` are the only columns that may be features (None: all), `denied_columns` those that may not.
    """

    kind: str
    options: Mapping[str, Any]
    allowed_columns: tuple[str, ...] | None = None
    denied_columns: tuple[str, ...] = ()

    @property
    def label_name(self) -> str | None:
        """What the site calls the labels: the column they are, or the name that it gives an array of them."""
        return self.options.get("label_name") or self.options.get("label")


def read_source(section: Section) -> DataSource:
    """The source that a section of the site file describes. Raises JobError."""
    kind = section.take("source", str)
    if kind not in _OPTIONS:
        raise JobError(
            f"{section.place}.source is no kind of data source",
            expected=" or ".join(repr(name) for name in SOURCE_KINDS),
            got=repr(kind),
            cure="choose one of them",
        )
    allowed, denied = None, None
    if kind in _WITH_HEADER:
        allowed, denied = section.take_optional_texts("allow_columns"), section.take_optional_texts("deny_columns")
    said = section.remaining()
    options = _OPTIONS[kind](section)
    section.finish()
    return DataSource(kind, {key: value for key, value in options.items() if key in said}, allowed, denied or ())


def _csv(section: Section) -> dict[str, Any]:
    return {
        "path": section.take("path", str),
        **_named_columns(section),
        "separator": section.take_choice("separator", SEPARATORS),
        "decimal": section.take_choice("decimal", DECIMALS),
        "encoding": section.take("encoding", str, "utf-8"),
        "missing": section.take_optional_texts("missing") or (),
    }


def _parquet(section: Section) -> dict[str, Any]:
    return {"path": section.take("path", str), **_named_columns(section)}


def _excel(section: Section) -> dict[str, Any]:
    return {
        "path": section.take("path", str),
        "sheet": section.take_optional("sheet", str),
        **_named_columns(section),
        "missing": section.take_optional_texts("missing") or (),
    }


def _sql(section: Section) -> dict[str, Any]:
    return {
        "url": section.take_optional("url", str),
        "url_variable": section.take_optional("url_variable", str),
        "table": section.take_optional("table", str),
        "query": section.take_optional("query", str),
        **_named_columns(section),
        "missing": section.take_optional_texts("missing") or (),
    }


def _named_columns(section: Section) -> dict[str, Any]:
    return {
        "label": section.take_optional("label", str),
        "id": section.take_optional_text_or_texts("id"),
        "ignore": section.take_optional_texts("ignore") or (),
        "columns": section.take_optional_texts("columns"),
        "dates": section.take_optional_texts("dates") or (),
        "date_format": section.take_optional("date_format", str),
    }


def _libsvm(section: Section) -> dict[str, Any]:
    return {
        "path": section.take("path", str),
        "columns": section.take("columns", int),
        "zero_based": section.take("zero_based", bool, False),
        **_labels_of_arrays(section),
    }


def _npz(section: Section) -> dict[str, Any]:
    labels = section.take_optional("labels", str)
    return {"path": section.take("path", str), "labels": labels, **_labels_of_arrays(section)}


def _npy(section: Section) -> dict[str, Any]:
    ids = section.take_optional("ids", str)
    return {
        # Ids alone serve for a set intersection.
        "features": section.take("features", str) if ids is None else section.take_optional("features", str),
        "labels": section.take_optional("labels", str),
        "ids": ids,
        **_labels_of_arrays(section),
    }


def _python(section: Section) -> dict[str, Any]:
    return {
        "function": section.take("function", str),
        "arguments": section.take("arguments", dict, {}),
        **_named_columns(section),
        **_labels_of_arrays(section),
    }


def _labels_of_arrays(section: Section) -> dict[str, Any]:
    """What labels are called that are no column with a name."""
    return {"label_name": section.take_optional("label_name", str)}


# Their columns' names can be read without a row; what other kinds hold is the site's own array or function.
_WITH_HEADER = ("csv", "parquet", "sql", "excel")
_OPTIONS: Mapping[str, Callable[[Section], dict[str, Any]]] = {
    "csv": _csv,
    "parquet": _parquet,
    "sql": _sql,
    "excel": _excel,
    "libsvm": _libsvm,
    "npz": _npz,
    "npy": _npy,
    "python": _python,
}
