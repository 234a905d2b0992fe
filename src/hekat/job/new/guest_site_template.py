"""The text of a new site file for a guest and its hosts, who hold other columns of the same people, or their ids."""

from __future__ import annotations

from hekat.job.new.new_guest_job import NewGuestJob
from hekat.job.new.site_template import COMMENTS, DEFAULTS, live_lines, machine_lines, policy_lines, state_lines
from hekat.job.new.template_lines import chosen, default, example
from hekat.job.site_file import SITE_FORMAT
from hekat.toml_text import toml_key

_ID = "the column that names a person, in the same writing at all parties; several: a list"
_PATH = "a header of column names, then a row for each person"
_COMMENTS = {**COMMENTS, "path": _PATH, "id": _ID, "label": COMMENTS["label"] + "; the guest alone has one"}


def guest_site_text(job: NewGuestJob) -> str:
    """The whole site file of a machine that plays all roles; it parses, and with its defaults uncommented too."""
    top = [
        "# Where this machine keeps data and keys, and what it lets a job do. It stays here: nobody else reads it.",
        "# Paths are relative to this file. A line that begins with # and a name stands at its default.",
        "# One machine plays all roles here; between machines each site file has its own party alone.",
        chosen("format", SITE_FORMAT.newest, "of this file: docs/decisions/0028-formats-of-files.md"),
    ]
    blocks = [
        top,
        *(_party(job, party) for party in job.parties),
        _arbiter(job),
        policy_lines(waives_bin_leak=job.waives_bin_leak, waives_column_leak=job.is_network and not job.is_sealed),
        machine_lines(),
        live_lines(),
    ]
    return "\n\n".join("\n".join(lines) for lines in blocks if lines) + "\n"


def _party(job: NewGuestJob, party: str) -> list[str]:
    is_guest, source = party == job.guest, job.source_of(party)
    lines = [f"[{toml_key('party', party)}]", *_keys(job, party), ""]
    lines += [
        f"[{toml_key('party', party, 'data', job.data_name)}]",
        chosen("source", job.kind_of(party), "or another kind that docs/how_to/data_sources.md describes"),
        *(chosen(key, value, _COMMENTS[key]) for key, value in source.items()),
    ]
    if not is_guest:  # the guest's lines say what there is
        return lines
    return lines + [
        default(key, value, COMMENTS[key]) for key, value in DEFAULTS[job.kind_of(party)].items() if key not in source
    ]


def _keys(job: NewGuestJob, party: str) -> list[str]:
    signs = "signs what this party sends: hekat keys party; else one for each run"
    lines = [example("party_key", f"{party}.key", signs)]
    if party in job.key_makers:
        made = "a Paillier key of this role: hekat keys generate; else one is made for each run"
        lines.append(example("paillier_key", f"{party}-paillier.key", made))
    counts = job.trains and party != job.arbiter
    kept = "approvals of jobs" + (", rows predicted with its part" if counts else "")
    if job.is_network and party == job.guest:
        kept += ", flips of labels"
    return lines + state_lines(party, kept)


def _arbiter(job: NewGuestJob) -> list[str]:
    if job.arbiter is None:
        return []
    return [f"[{toml_key('party', job.arbiter)}]                          # holds no rows", *_keys(job, job.arbiter)]
