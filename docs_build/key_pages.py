"""The reference of job and site files: every key with type, default, range or unit, and what it says."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from recorded_keys import REQUIRED, Key, recorded_keys

DESCRIPTIONS = Path(__file__).parent / "key_descriptions.toml"
_JOB = """# Job file

What is done together, by whom and how: the same file, letter by letter, at every party. `hekat init` writes one with
every key, its default and its choices. Hekat refuses a key that is misspelt or has no effect, with what was expected,
what came, and the cure.

**Required** keys have no default. Where a key belongs to one protection or algorithm alone, it is refused with another.
"""
_SITE = """# Site file

Where one machine keeps rows and keys, and what it lets a job do. It stays on the machine. Paths are relative to the
file. `hekat init` writes one with every key.
"""
_TITLES = {
    "horizontal": ("Same columns, other rows", '`protocol = "horizontal"`.'),
    "horizontal_trees": (
        "Boosted trees, the same columns and other rows",
        '`protocol = "horizontal_trees"`.',
    ),
    "encrypted_model": (
        "A model that hosts train and cannot read, the same columns and other rows",
        '`protocol = "encrypted_model"`.',
    ),
    "vertical_linear": ("Other columns of the same people", '`protocol = "vertical_linear"`.'),
    "vertical_trees": ("Boosted trees on other columns of the same people", '`protocol = "vertical_trees"`.'),
    "vertical_network": ("A split network on other columns of the same people", '`protocol = "vertical_network"`.'),
    "psi": ("Which ids are common", '`protocol = "psi"`.'),
    "averaging": (
        "Updates of an app that an engine runs",
        '`protocol = "averaging"`: the job of `hekat.nvflare.protect`, which writes it for sites on one machine.',
    ),
}
# The tables of a site file, by the first words of a key's place.
_SITE_TABLES = {
    "party.NAME.": ("[party.NAME]", "What this machine keeps for one party."),
    "data.csv.": ("CSV files", "`[party.NAME.data.NAME]`; `[common_data.NAME]` for rows that all parties measure on."),
    "data.parquet.": ("Parquet files", ""),
    "data.sql.": ("Databases", ""),
    "data.excel.": ("Excel files", ""),
    "data.libsvm.": ("libsvm files", ""),
    "data.npz.": ("NumPy archives", ""),
    "data.npy.": ("NumPy arrays", ""),
    "data.python.": ("Your own function", ""),
    "model.": ("[common_models.NAME], [party.NAME.model.NAME]", "Code of a model that a job calls NAME."),
    "policy.": ("[policy]", "What a job may ask for; one that asks for more is refused before anything is read."),
    "machine.": ("[machine]", "What the owner says of the machine."),
    "live.": ("[live]", "A page of each role that an engine has this site play: docs/how_to/live.md."),
}


def descriptions() -> dict[str, dict[str, Mapping[str, str]]]:
    """By file and place: `what`, `range`, and `default` where the code's own says too little."""
    stated = tomllib.loads(DESCRIPTIONS.read_text(encoding="utf-8"))
    shared = stated.pop("shared")
    recorded = recorded_keys()
    return {
        file: {**{place: shared[place] for place in recorded[file] if place in shared}, **own}
        for file, own in stated.items()
    }


def render_job() -> str:
    """docs/reference/job.md."""
    lines = [_JOB]
    recorded, described = recorded_keys(), descriptions()
    for file, (title, head) in _TITLES.items():
        lines += [f"## {title}", "", head, ""]
        for section, keys in _by_section(recorded[file]).items():
            lines += [f"### {_heading(section)} of {file.replace('_', ' ')} jobs", ""] if section else []
            lines += [*_table(keys, described[file], section), ""]
    return "\n".join(lines).rstrip() + "\n"


def render_site() -> str:
    """docs/reference/site.md."""
    recorded, described = recorded_keys()["site"], descriptions()["site"]
    lines = [_SITE, *_table([recorded["format"]], described, ""), ""]
    for prefix, (title, head) in _SITE_TABLES.items():
        keys = [key for place, key in recorded.items() if place.startswith(prefix)]
        lines += [f"## {title}" if title.startswith("[") else f"## Rows: {title}", ""]
        lines += [*([head, ""] if head else []), *_table(keys, described, prefix), ""]
    return "\n".join(lines).rstrip() + "\n"


def _by_section(keys: Mapping[str, Key]) -> dict[str, list[Key]]:
    """The keys by their table: those at the top of the file first, the others in the order of reading."""
    found: dict[str, list[Key]] = {"": []}
    for key in keys.values():
        section = key.place.rsplit(".", 1)[0] + "." if "." in key.place else ""
        if section == "training.optimiser_settings.":
            section = "training."
        found.setdefault(section, []).append(key)
    return found


def _heading(section: str) -> str:
    return f"[{section.rstrip('.')}]"


def _table(keys: list[Key], described: Mapping[str, Mapping[str, str]], prefix: str) -> list[str]:
    return ["| key | what | type | default | unit, range |", "|---|---|---|---|---|", *_rows(keys, described, prefix)]


def _rows(keys: list[Key], described: Mapping[str, Mapping[str, str]], prefix: str) -> Iterator[str]:
    for key in keys:
        said = described[key.place]
        cells = [f"`{key.place.removeprefix(prefix)}`", said["what"], key.kind, _default(key, said), said["range"]]
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _default(key: Key, said: Mapping[str, str]) -> str:
    default = said.get("default") or key.default
    if default == REQUIRED:
        return f"**{REQUIRED}**"
    return default if "default" in said else f"`{default}`"
