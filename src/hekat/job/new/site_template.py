"""The text of a new site file: where each party's rows and keys lie, what the site allows, each with its default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.job.new.new_job import DATA_KINDS, NET_MODULE, NET_NAME, NewJob
from hekat.job.new.template_lines import chosen, default, example, setting
from hekat.job.policy.site_lines import SitePolicy
from hekat.job.site_file import SITE_FORMAT, SiteMachine
from hekat.toml_text import toml_key

_LABEL, _IGNORE = "the column to be predicted", 'columns that are left out: names, numbers of records, "tmp_*"'
COMMENTS: Mapping[str, str] = {
    "label": _LABEL,
    "label_name": "what labels are called that are an array; label privacy needs it",
    "ignore": _IGNORE,
    "allow_columns": "the only columns that jobs may use; unless said, all",
    "deny_columns": "columns that jobs may never use",
    "id": "the column that names a row, for predictions; is no feature and is never sent",
    "ids": "numpy.save(path, ids): what names a row, for predictions; is no feature and is never sent",
    "separator": 'between cells: ",", ";", "\\t" or "|"',
    "decimal": '"." or ","',
    "encoding": "of the file's text",
    "missing": "texts that stand for an empty cell, such as NA; the job says what fills it",
    "columns": 'the only columns that are features, such as "lab_*"; unless said, all others',
    "dates": "columns of dates, which become days since 1970-01-01",
    "date_format": "how texts of dates are written; unless said, as 2024-02-29",
    "sheet": "the name of the sheet; unless said, the first",
    "url": "of the database, without a password: sqlite:///FILE, postgresql+psycopg://USER@HOST/NAME",
    "url_variable": "instead of url: the environment variable that holds it, password and all",
    "table": "in the database: TABLE or SCHEMA.TABLE",
    "query": "instead of table: a SELECT",
    "zero_based": "true: the first column is 0, not 1",
    "function": "module:function beside this file; returns a data frame or (features, labels, column names)",
    "arguments": "what the function is called with",
}
_PATHS = {
    "csv": "a header of column names, then a row of numbers for each record",
    "parquet": "columns of numbers, and of texts where the job says so",
    "excel": "an .xlsx file: a row of column names, then a row for each record",
    "libsvm": "a line for each record: label, then column:value",
    "npz": "numpy.savez(path, features=..., labels=..., feature_names=...)",
}
_NAMED: Mapping[str, Any] = {"ignore": [], "dates": [], "deny_columns": []}
_NAMED_EXAMPLES: Mapping[str, Any] = {
    "id": "record",
    "columns": ["age", "lab_*"],
    "date_format": "%d.%m.%Y",
    "allow_columns": ["age", "dose"],
}
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "csv": {**_NAMED, "separator": ",", "decimal": ".", "encoding": "utf-8", "missing": []},
    "parquet": _NAMED,
    "sql": {**_NAMED, "missing": []},
    "excel": {**_NAMED, "missing": []},
    "libsvm": {"zero_based": False},
    "npz": {},
    "npy": {},
    "python": {"arguments": {}, "ignore": [], "dates": []},
}
_LABEL_NAME: Mapping[str, Any] = {"label_name": "outcome"}
_EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "csv": _NAMED_EXAMPLES,
    "parquet": _NAMED_EXAMPLES,
    "sql": {
        "url_variable": "VISITS_URL",
        "query": "SELECT age, outcome FROM visits ORDER BY record",
        **_NAMED_EXAMPLES,
    },
    "excel": {"sheet": "visits", **_NAMED_EXAMPLES},
    "python": {
        "label": "outcome",
        "id": "record",
        "columns": ["age", "lab_*"],
        "date_format": "%d.%m.%Y",
        **_LABEL_NAME,
    },
    "npz": {"labels": "labels.npy", **_LABEL_NAME},
    "npy": {"ids": "ids.npy", **_LABEL_NAME},
    "libsvm": _LABEL_NAME,
}


def site_text(job: NewJob) -> str:
    """The whole site file of a machine that plays all parties; it parses, and with its defaults uncommented too."""
    first, *others = job.parties
    blocks = [
        _top(job),
        _party(job, first),
        *(_party(job, name, brief=True) for name in others),
        _test_data(job),
        _net(job),
        policy_lines(),
        machine_lines(),
        live_lines(),
    ]
    return "\n\n".join("\n".join(lines) for lines in blocks if lines) + "\n"


def _top(job: NewJob) -> list[str]:
    lines = [
        "# Where this machine keeps data and keys, and what it lets a job do. It stays here: nobody else reads it.",
        "# Paths are relative to this file. A line that begins with # and a name stands at its default.",
        "# One machine plays all parties here; between machines each site file has its own party alone.",
        chosen("format", SITE_FORMAT.newest, "of this file: docs/decisions/0028-formats-of-files.md"),
    ]
    if job.model == "torch":
        return lines
    source = {NET_NAME: {"function": f"{NET_MODULE}:build", "arguments": {}}}
    return [*lines, example("common_models", source, "code of a model that a job calls so: hekat init --model torch")]


def _party(job: NewJob, party: str, *, brief: bool = False) -> list[str]:
    keys = [
        example("party_key", f"{party}.key", "signs what this party sends: hekat keys party; else one for each run")
    ]
    keys += _state(job, party)
    if party == job.parties[0] and job.protection == "paillier":
        keys.append(example("paillier_key", "leader.key", "of the first party alone: hekat keys generate; else made"))
    table = [f"[{toml_key('party', party, 'data', job.data_name)}]", *_source(job, party, brief=brief)]
    own = _state(job, party, brief=True) if brief else [*keys, ""]
    return [f"[{toml_key('party', party)}]", *own, *table]


def _state(job: NewJob, party: str, *, brief: bool = False) -> list[str]:
    """The folder that outlasts all runs."""
    kept = "upload numbers, what was opened of its rows, approvals of jobs" if job.protection == "lattice" else ""
    return state_lines(party, "" if brief else kept or "approvals of jobs")


def state_lines(party: str, kept: str) -> list[str]:
    """Where a party keeps what outlasts its runs; `kept` says what, "" nothing."""
    return [chosen("state", f"state/{party}", f"{kept}: keep it as long as the rows" if kept else "")]


def _source(job: NewJob, who: str, *, brief: bool = False) -> list[str]:
    """One data source, with all options of its kind unless `brief`."""
    options, kind = job.source_of(who), job.kind_of(who)
    options = {key: list(value) if isinstance(value, tuple) else value for key, value in options.items()}
    if brief:
        return [chosen("source", kind), *(chosen(key, value) for key, value in options.items())]
    comments = {**COMMENTS, "path": _PATHS.get(kind, "")}
    if kind == "npy":
        comments |= {"features": "numpy.save(path, features)", "labels": "numpy.save(path, labels)"}
    if kind == "libsvm":
        comments["columns"] = "how many there are, so that all parties have as many"
    if kind == "python":
        named = ("label", "id", "ignore", "columns", "dates", "date_format")
        comments |= {key: f"of a data frame: {comments[key]}" for key in named}
    if kind == "npz":
        comments["labels"] = "a file of its own for labels, where the .npz holds none"
    lines = [chosen("source", kind, ", ".join(f'"{name}"' for name in DATA_KINDS))]
    lines += [chosen(key, value, comments[key]) for key, value in options.items()]
    lines += [default(key, value, comments[key]) for key, value in DEFAULTS[kind].items() if key not in options]
    return lines + [example(key, value, comments[key]) for key, value in _EXAMPLES.get(kind, {}).items()]


def _test_data(job: NewJob) -> list[str]:
    if not job.has_test_data:
        return []
    return [f"[{toml_key('common_data', job.test_name)}]", *_source(job, job.test_name, brief=True)]


def _net(job: NewJob) -> list[str]:
    if job.model != "torch":
        return []
    return [
        f"[{toml_key('common_models', NET_NAME)}]",
        chosen("function", f"{NET_MODULE}:build", "module:function beside this file; returns a torch.nn.Module"),
        chosen("arguments", {"hidden": 16}, "what the function is called with"),
    ]


def policy_lines(*, waives_bin_leak: bool = False, waives_column_leak: bool = False) -> list[str]:
    """What a site allows, at its defaults but for the waivers that a job asks for."""
    policy = SitePolicy()
    return [
        "[policy]                                 # a job that asks for more is refused before anything is read",
        default("protocols", list(policy.protocols), "what jobs may do together with others"),
        default("protections", list(policy.protections), 'of "lattice", "paillier", "none"'),
        default(
            "openings", list(policy.openings), 'of "committee", "authority", "shared": docs/explanation/security.md'
        ),
        example("models", ["logistic"], "that jobs may train; unless said, any"),
        default("min_key_bits", policy.min_key_bits, "bits of a Paillier key"),
        default("min_masked", policy.min_masked, "the part of an update's values that a job has to mask"),
        default("exposed_embeddings", policy.exposed_embeddings, "tables of embeddings may go in the clear too"),
        default("exactness_check", policy.exactness_check, "all parties' updates compared in one process"),
        default("vertical_forms", list(policy.vertical_forms), "of vertical regression: docs/explanation/vertical.md"),
        default("network_forms", list(policy.network_forms), 'of split networks; "guest_layer" is there to compare'),
        default("label_leak_waiver", policy.label_leak_waiver, "vertical jobs may waive what keeps labels from hosts"),
        setting(
            "column_leak_waiver",
            waives_column_leak,
            policy.column_leak_waiver,
            "the same, where the guest may learn columns of hosts; split networks of form shared need it",
        ),
        default("slope_leak_waiver", policy.slope_leak_waiver, "bottoms of hosts may train in split networks"),
        setting(
            "bin_leak_waiver",
            waives_bin_leak,
            policy.bin_leak_waiver,
            "jobs of trees may waive what limits the guest's sums of bins",
        ),
        default("budget_waiver", policy.budget_waiver, "exact sums of rows that have a privacy budget"),
        default("hide_partition", policy.hide_partition, "jobs of trees may hide from hosts which rows a node has"),
        default("joined_rows", policy.joined_rows, "rows of all parties put together, for a comparison"),
        default("single_ids", policy.single_ids, "a party of an intersection may ask about one person"),
        default("server_learns_model", policy.server_learns_model, "the server of another engine sees the mean model"),
        default("model_owners", list(policy.model_owners), "who may get a model that this site trains and cannot read"),
        default("max_reported_models", policy.max_reported_models, "of one such training, the last one included"),
        example(
            "max_rounds",
            50,
            "rounds of a job, comparisons included, epochs, or iterations of trees; unless said, no limit",
        ),
        default("max_value_bits", policy.max_value_bits, "of a number in opened sums and gradients"),
        default("max_validation_bins", policy.max_validation_bins, "that scores of held-out rows are counted in"),
        default("min_category_rows", policy.min_category_rows, "rows of a text that others are shown as a category"),
        example(
            "max_predictions",
            1000,
            "rows predicted with a part of a model, in all; unless said, 100,000, of an encrypted model half as "
            "many as it has columns",
        ),
        default("max_score_bits", policy.max_score_bits, "joint scores are told to 2^-max_score_bits at the finest"),
        default("max_label_epsilon", policy.max_label_epsilon, "label privacy of jobs on columns: 1 strong, 3 weak"),
        default("require_label_privacy", policy.require_label_privacy, "no job on columns without label privacy"),
        default(
            "max_sum_memory_mib", policy.max_sum_memory_mib, "memory for sums that guests of jobs of trees ask for"
        ),
        example("committee_members", ["hekat-party-ed25519:..."], "with whom a committee is formed; names: no keys"),
        default("min_committee_members", policy.min_committee_members, "of a committee under lattice, up to 7"),
        default("min_parties", policy.min_parties, "fewest updates in a sum that is opened"),
        default("require_approval", policy.require_approval, "jobs without party keys need hekat job approve too"),
        example("approved_jobs", ["0" * 64], "the only jobs that may run here: hekat job digest"),
    ]


def machine_lines() -> list[str]:
    """What the owner says of the machine, at its defaults."""
    what = "nobody else's code runs on this machine: SECURITY.md, Side channels"
    return ["[machine]", default("single_tenant", SiteMachine().single_tenant, what)]


def live_lines() -> list[str]:
    """The live page of roles that an engine has this site play; none unless said."""
    return [
        "[live]",
        example("port", 0, "of 127.0.0.1, 0 for any free one: a page of each role that an engine has this site play"),
        example("token", "live.token", "the file (mode 600) of what opens the page; unless said, new for each run"),
    ]
