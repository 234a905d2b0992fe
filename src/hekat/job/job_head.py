"""The part that all job files share: the head, the time-out, and the public facts about columns."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from hekat.data import ColumnSpec, ColumnSpecs
from hekat.errors import JobError
from hekat.job.section import Section, check_format, parse_toml, read_bytes
from hekat.state.file_format import FileFormat

JOB_FORMAT = FileFormat("job file", ("0.1.0", "0.2.0"))
PLAYED_PROTOCOLS = (
    "horizontal",
    "horizontal_trees",
    "encrypted_model",
    "vertical_linear",
    "vertical_trees",
    "vertical_network",
    "psi",
)
"""What Hekat computes by itself, on rows that a site file names."""
PROTOCOLS = (*PLAYED_PROTOCOLS, "averaging")
SITE_SECTIONS = ("party", "policy", "common_data", "common_models", "machine", "live")
TIMEOUT_S_PER_PARTY = 120.0
MAX_TIMEOUT_S = 7 * 24 * 3600.0


@dataclass(frozen=True)
class JobHead:
    """The first lines of a job file; `rest` is what is still to be read. `digest` is over the file's bytes: parties
    with different files are told before they start."""

    protocol: str
    name: str
    version: int
    digest: bytes
    rest: Section


def read_head(path: Path) -> JobHead:
    """The head of the job at `path`. Raises JobError where it is no job file or names an unknown protocol."""
    data_bytes = read_bytes(path, "job file")  # once: the digest is of the very bytes that are parsed
    top = parse_toml(data_bytes, path, "job file")
    version = check_format(top, JOB_FORMAT)
    _check_is_job(top, path)
    protocol = top.take("protocol", str)
    if protocol not in PROTOCOLS:
        raise JobError(
            "there is no such protocol",
            expected=" or ".join(repr(known) for known in PROTOCOLS),
            got=repr(protocol),
            cure="set protocol to one of them",
        )
    return JobHead(protocol, top.take("name", str), version, hashlib.sha256(data_bytes).digest(), top)


def _check_is_job(top: Section, path: Path) -> None:
    """Raise JobError for a site file, which has other sections and no protocol."""
    sections = [name for name in SITE_SECTIONS if top.has(name)]
    if sections and not top.has("protocol"):
        raise JobError(
            f"{path} is no job file, but a site file",
            expected="a job file, which names a protocol",
            got=f"[{sections[0]}] and no protocol",
            cure="give the job's own file, job.toml; a site file is named by --site",
        )


def read_head_of(path: Path, protocol: str) -> JobHead:
    """As `read_head`, for a reader of one protocol's jobs. Raises JobError for a job of another."""
    head = read_head(path)
    if head.protocol != protocol:
        raise JobError(
            f"this is a job of protocol '{head.protocol}'",
            expected=f"a job of protocol '{protocol}'",
            got=f"protocol = {head.protocol!r} in {path.name}",
            cure="give a job file of that protocol",
        )
    return head


def read_timeout(top: Section, role_count: int) -> float:
    """Seconds a role waits for a message. Roles take turns on this machine, so the default grows with their number."""
    timeout_s = top.take("timeout_s", float, TIMEOUT_S_PER_PARTY * role_count)
    if not 0 < timeout_s <= MAX_TIMEOUT_S:
        raise JobError(
            "timeout_s refused",
            expected=f"seconds above 0, up to {MAX_TIMEOUT_S:g} (7 days)",
            got=str(timeout_s),
            cure="change timeout_s, or leave it out",
        )
    return timeout_s


FOUND = "found"


def read_columns(section: Section) -> ColumnSpecs:
    """What a job says of columns that hold categories, have empty cells or are left out, and of patterns of names."""
    specs = []
    for name, column in section.take_sections().items():
        listed = column.take_optional_text_or_texts("categories")
        if isinstance(listed, str) and listed != FOUND:
            raise JobError(
                f"columns.{name}.categories refused",
                expected=f"a list of texts, or {FOUND!r}",
                got=repr(listed),
                cure=f'say categories = "{FOUND}", or list the texts: categories = ["...", "..."]',
            )
        values: dict[str, Any] = {
            "categories": () if listed in (None, FOUND) else listed,
            "found": listed == FOUND,
            "min_rows": column.take_optional("min_rows", int),
            "other": column.take("other", bool, False),
            "fill": column.take_optional_text_or_number("fill"),
            "missing": column.take_optional("missing", str),
            "unknown": column.take_optional("unknown", str),
            "empty": column.take_optional_texts("empty") or (),
            "ignore": column.take("ignore", bool, False),
        }
        column.finish()
        specs.append(ColumnSpec(name, **values))
    return ColumnSpecs(tuple(specs))


def read_fields(section: Section, usual: Any) -> dict[str, Any]:
    """What a section says of the fields of a settings object, by their names; as `usual` has them where it does not.

    A field whose usual value is None is a whole number, or None. Raises JobError.
    """
    said: dict[str, Any] = {}
    for one in fields(usual):
        value = getattr(usual, one.name)
        said[one.name] = (
            section.take_optional(one.name, int) if value is None else section.take(one.name, type(value), value)
        )
    section.finish()
    return said


def read_pairs(section: Section, words: str, example: str) -> dict[str, tuple[float, float]]:
    """Every remaining key of a section, each a list of two numbers, called `words`. Raises JobError."""
    pairs = {}
    for key in section.remaining():
        pair = section.take(key, list)
        if len(pair) != 2 or not all(isinstance(one, int | float) and not isinstance(one, bool) for one in pair):
            raise JobError(
                f"{section.place}.{key} has the wrong type",
                expected=f"{words}, two numbers",
                got=f"a list of {len(pair)}",
                cure=f"correct it, such as to {example}",
            )
        pairs[key] = (float(pair[0]), float(pair[1]))
    return pairs


def read_numbers(section: Section) -> dict[str, float]:
    """Every remaining key of a section, each a number."""
    return {key: section.take(key, float) for key in section.remaining()}
