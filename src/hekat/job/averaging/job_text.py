"""Writes the job file of a protected app."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hekat.job.averaging.job_file import PROTOCOL
from hekat.job.job_head import JOB_FORMAT
from hekat.job.party_keys import SECTION
from hekat.toml_text import toml_key, toml_text


def write_averaging_job(
    name: str, parties: Sequence[str], settings: Mapping[str, object], party_keys: Mapping[str, str] | None = None
) -> bytes:
    """The text of a job; `settings` are further keys; a mapping is a section. `party_keys` are the lines of
    `hekat keys party`, without their names. `load_averaging_job` checks what stands in it."""
    lines = [
        f"format = {JOB_FORMAT.newest}",
        f"name = {toml_text(name)}",
        f"protocol = {toml_text(PROTOCOL)}",
        f"parties = [{', '.join(toml_text(party) for party in parties)}]",
    ]
    sections = {key: value for key, value in settings.items() if isinstance(value, Mapping)}
    if party_keys:
        sections[SECTION] = party_keys
    lines += [f"{toml_key(key)} = {_toml(value)}" for key, value in settings.items() if key not in sections]
    for section, entries in sections.items():
        lines += [
            "",
            f"[{toml_key(section)}]",
            *(f"{toml_key(key)} = {_toml(value)}" for key, value in entries.items()),
        ]
    return "\n".join([*lines, ""]).encode()


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return toml_text(value) if isinstance(value, str) else repr(value)
