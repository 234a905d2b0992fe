"""The text of a new site file of a machine that plays all roles of a training on an encrypted model."""

from __future__ import annotations

from hekat.job.new.encrypted_model.new_job import NewEncryptedModelJob
from hekat.job.new.site_template import COMMENTS, DEFAULTS, live_lines, machine_lines, policy_lines, state_lines
from hekat.job.new.template_lines import chosen, default, example
from hekat.job.site_file import SITE_FORMAT
from hekat.toml_text import toml_key

_COMMENTS = {**COMMENTS, "path": "a header of column names, then a row of numbers for each record"}


def encrypted_model_site_text(job: NewEncryptedModelJob) -> str:
    """The whole site file; it parses, and with its defaults uncommented too."""
    first, *others = job.hosts
    top = [
        "# Where this machine keeps data and keys, and what it lets a job do. It stays here: nobody else reads it.",
        "# Paths are relative to this file. A line that begins with # and a name stands at its default.",
        "# One machine plays all roles here; between machines each site file has its own role alone, and a host's",
        "# says under [policy] to whom a model of its rows may go: model_owners.",
        chosen("format", SITE_FORMAT.newest, "of this file: docs/decisions/0028-formats-of-files.md"),
    ]
    apart = [name for name in job.settings().everyone if name not in job.hosts]
    blocks = [
        top,
        _host(job, first),
        *(_host(job, name, brief=True) for name in others),
        *([f"[{toml_key('party', name)}]", *_keys(job, name)] for name in apart),
        policy_lines(),
        machine_lines(),
        live_lines(),
    ]
    return "\n\n".join("\n".join(lines) for lines in blocks) + "\n"


def _host(job: NewEncryptedModelJob, name: str, *, brief: bool = False) -> list[str]:
    source = job.source_of(name)
    lines = [f"[{toml_key('party', name)}]", *_keys(job, name), ""]
    lines += [
        f"[{toml_key('party', name, 'data', job.data_name)}]",
        chosen("source", "csv", "or another kind that docs/how_to/data_sources.md describes"),
        *(chosen(key, value, _COMMENTS[key]) for key, value in source.items()),
    ]
    if brief:  # the first host's lines say what there is
        return lines
    return lines + [default(key, value, COMMENTS[key]) for key, value in DEFAULTS["csv"].items() if key not in source]


def _keys(job: NewEncryptedModelJob, name: str) -> list[str]:
    signs = "signs what this role sends: hekat keys party; else one for each run"
    lines = [example("party_key", f"{name}.key", signs)]
    if name == job.arbiter and job.protection == "paillier":
        lines.append(example("paillier_key", f"{name}-paillier.key", "hekat keys generate; else made for each run"))
    # An owner that is no host has the model, and takes no part in joint scores.
    is_apart = name == job.owner and name not in job.hosts
    return lines + state_lines(name, "approvals of jobs" + ("" if is_apart else ", rows scored with its part"))
