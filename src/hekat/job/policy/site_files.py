"""The files and folders that a site file names: whether they are there, and who may read and write them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hekat.channel import PartyKey
from hekat.errors import HekatError
from hekat.job.data_source import DataSource
from hekat.job.model_source import ModelSource
from hekat.job.site_file import Site
from hekat.toml_text import toml_key
from hekat.wire.keyfile import describe_key_file

_FILE_KEYS = ("path", "features", "labels", "ids")
_OTHERS = 0o077
_OTHERS_WRITE = 0o022


@dataclass(frozen=True)
class FileState:
    """A line of the site file that names a file, and what is wrong with it; "" where nothing is. No path."""

    line: str
    problem: str


def check_files(site: Site, site_path: Path) -> list[FileState]:
    """Every file that the site file names, itself first; no row is read."""
    found = [FileState("the site file", _who_writes(site_path))]
    for name, party in site.parties.items():
        where = toml_key("party", name)
        if party.party_key is not None:
            found.append(FileState(f"[{where}] party_key", _of_party_key(party.party_key)))
        if party.paillier_key is not None:
            found.append(FileState(f"[{where}] paillier_key", _of_paillier_key(party.paillier_key)))
        if party.state is not None:
            found.append(FileState(f"[{where}] state", _of_state(party.state)))
        for data, source in party.data.items():
            found += _of_source(site, source, toml_key("party", name, "data", data))
        for model, code in party.models.items():
            found.append(_of_model(site, code, toml_key("party", name, "model", model)))
    for data, source in site.common_data.items():
        found += _of_source(site, source, toml_key("common_data", data))
    found += [_of_model(site, code, toml_key("common_models", name)) for name, code in site.common_models.items()]
    return found


def _of_party_key(path: Path) -> str:
    try:
        PartyKey.load(path)
    except HekatError as error:
        return error.got or "no party key"
    return ""


def _of_paillier_key(path: Path) -> str:
    try:
        found = describe_key_file(path)
    except HekatError as error:
        return error.got or "no key file"
    return "others than its owner may read it: chmod 600" if _mode(path) & _OTHERS else _private(found["kind"])


def _private(kind: str) -> str:
    return "" if kind == "private key" else f"a {kind}, where a private key belongs"


def _of_state(path: Path) -> str:
    if not path.exists():
        return ""  # it is made at the first run, approval or refusal
    if not path.is_dir():
        return "no folder"
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return "this user cannot write to it"
    return "others than its owner may write to it: chmod 700" if _mode(path) & _OTHERS_WRITE else ""


def _of_source(site: Site, source: DataSource, place: str) -> Iterator[FileState]:
    for key in _FILE_KEYS:
        if source.options.get(key) and not (key == "labels" and source.kind not in ("npz", "npy")):
            yield FileState(f"[{place}] {key}", _of_readable(site.folder / source.options[key]))
    if source.kind == "python":
        yield FileState(f"[{place}] function", _of_code(site, source.options["function"]))


def _of_model(site: Site, source: ModelSource, place: str) -> FileState:
    return FileState(f"[{place}] function", _of_code(site, source.function))


def _of_code(site: Site, function: str) -> str:
    path = site.folder / f"{function.partition(':')[0].replace('.', '/')}.py"
    return _of_readable(path) or _who_writes(path)


def _of_readable(path: Path) -> str:
    if not path.exists():
        return "not there"
    return "" if path.is_file() and os.access(path, os.R_OK) else "this user cannot read it"


def _who_writes(path: Path) -> str:
    return "others than its owner may write to it: chmod go-w" if _mode(path) & _OTHERS_WRITE else ""


def _mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return 0
