"""What a site's policy allows, line by line, in words for people who answer for the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from hekat.job.data_source import DataSource
from hekat.job.policy.site_lines import SitePolicy, policy_keys
from hekat.job.site_file import Site
from hekat.protocol.vertical.prediction_limit import MAX_PREDICTIONS
from hekat.protocol.vertical_network.settings import GUEST_LAYER, SHARED
from hekat.toml_text import toml_key


@dataclass(frozen=True)
class StatedLine:
    """A line of the site file, its value, and what it means for who owns the data."""

    line: str
    value: str
    meaning: str


def say_policy(site: Site) -> list[StatedLine]:
    """Every line of [policy] and every list of columns, also those at their default."""
    said = [StatedLine(f"policy.{key}", _value(site.policy, key), _MEANINGS[key](site.policy)) for key in policy_keys()]
    return [*said, *_say_columns(site)]


def _value(policy: SitePolicy, key: str) -> str:
    value = getattr(policy, key)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        if key in ("committee_members", "approved_jobs"):
            return f"{len(value)} listed"
        return ", ".join(value) or "none"
    if value is None:
        return "as usual" if key == "max_predictions" else "not limited"
    return str(value)


def _protections(policy: SitePolicy) -> str:
    if "none" in policy.protections:
        return "updates may leave WITHOUT encryption: whoever adds them sees each one"
    return "updates leave encrypted, by one of these; no job may switch encryption off"


def _openings(policy: SitePolicy) -> str:
    if set(policy.openings) - {"committee"}:
        return "one role, or any party, could open a single update in jobs that ask for it"
    return "under lattice a sum opens only when enough members of a committee agree; no role opens an update alone"


def _forms(policy: SitePolicy) -> str:
    if "arbiter" in policy.vertical_forms:
        return "parties may see their own gradients, within the limit on equations about labels and columns"
    return "weights and gradients stay in shares: no party sees its own gradients"


def _network_forms(policy: SitePolicy) -> str:
    if GUEST_LAYER in policy.network_forms:
        return "split networks may have FATE's form, to compare: the guest learns each host's outputs by themselves"
    if SHARED in policy.network_forms:
        return "weights of a host's side of a split network lie in shares, and outputs open summed over hosts"
    return "split networks stay in shares as a whole, and open the mean loss alone"


def _either(yes: str, no: str, key: str) -> Callable[[SitePolicy], str]:
    return lambda policy: yes if getattr(policy, key) else no


def _listed(some: str, anything: str, key: str) -> Callable[[SitePolicy], str]:
    return lambda policy: anything if getattr(policy, key) is None else some


_MEANINGS: Mapping[str, Callable[[SitePolicy], str]] = {
    "protocols": lambda policy: (
        "what may be done together with others: train on the same columns (horizontal, horizontal_trees), also a model "
        "that no host reads (encrypted_model), on other columns of the same people a regression (vertical_linear), "
        "trees (vertical_trees) or a split network (vertical_network), find common ids (psi), average updates of an "
        "app that an engine runs (averaging)"
    ),
    "protections": _protections,
    "openings": _openings,
    "models": _listed("only these models may be trained", "any model that Hekat or this site has", "models"),
    "min_key_bits": lambda policy: "Paillier and RSA keys of jobs and predictions have at least so many bits",
    "exactness_check": _either(
        "one process may compare all parties' updates in the clear", "no process sees all updates", "exactness_check"
    ),
    "vertical_forms": _forms,
    "network_forms": _network_forms,
    "label_leak_waiver": _either(
        "a job may let hosts learn labels of single rows",
        "the limit on what hosts learn of labels holds",
        "label_leak_waiver",
    ),
    "column_leak_waiver": _either(
        "a job may let the guest learn columns of hosts",
        "the limit on what the guest learns of columns holds",
        "column_leak_waiver",
    ),
    "slope_leak_waiver": _either(
        "bottoms of hosts may train in a split network: their slopes tell hosts of columns here",
        "no slopes of a split network open, which would tell hosts of columns here",
        "slope_leak_waiver",
    ),
    "bin_leak_waiver": _either(
        "sums of many trees may tell the guest in which bins the rows here lie",
        "the limit on what sums of trees tell the guest of bins holds",
        "bin_leak_waiver",
    ),
    "budget_waiver": _either(
        "a job may open exact sums of rows that have a privacy budget, which then promises nothing",
        "of rows that have a privacy budget only noised sums open",
        "budget_waiver",
    ),
    "hide_partition": _either(
        "a job of trees may hide the rows of its nodes, and the guest alone then sees to it that sums are not of few",
        "this site sees which rows a node of a tree has, and sends no sum over few of them",
        "hide_partition",
    ),
    "joined_rows": _either(
        "one process may put all parties' rows together", "rows of parties are never put together", "joined_rows"
    ),
    "single_ids": _either(
        "a party may ask whether others know one person", "nobody may ask about one person", "single_ids"
    ),
    "server_learns_model": _either(
        "who runs the server of an engine may see the mean model of every round",
        "the server sees no model: it is written at the sites alone",
        "server_learns_model",
    ),
    "model_owners": lambda policy: (
        "these, beside the roles here, may be given a model that this site trains and cannot read (encrypted_model)"
        if policy.model_owners
        else "a model that this site trains and cannot read (encrypted_model) goes to a role here, or is not trained"
    ),
    "max_reported_models": lambda policy: (
        "whoever gets an encrypted model may be given at most so many of one training, the last one included: "
        "models of consecutive rounds tell what all hosts' columns make of each other"
    ),
    "max_rounds": _listed(
        "at most so many rounds of a horizontal job, comparisons included, or epochs of a vertical one: each "
        "opens sums over the rows here",
        "a job may open as many sums as it asks for",
        "max_rounds",
    ),
    "max_value_bits": lambda policy: (
        "a number in an opened sum of updates, or in a gradient that a party sees, is told to at most so many bits; "
        "means and spreads of columns (training.standardise) keep their 32, and fills of empty cells come from exact "
        "counts"
    ),
    "max_validation_bins": lambda policy: (
        "scores of held-out rows are counted in at most so many bins for each class, summed over parties"
    ),
    "min_category_rows": lambda policy: (
        "a text of this site's tables is shown to all parties, as a category that they find together, where at least "
        "so many rows hold it"
    ),
    "max_predictions": lambda policy: (
        "rows that may be scored in all with this site's part of a vertical model, or of a model that nobody reads "
        "(encrypted_model)"
        + (
            ""
            if policy.max_predictions is not None
            else f"; {MAX_PREDICTIONS:,} of the first, and of the other half as many as it has columns"
        )
    ),
    "max_score_bits": lambda policy: "such a score is told to 2 to the power of minus that, at the finest",
    "max_label_epsilon": lambda policy: (
        "label privacy that hosts learn something through replaces labels by this epsilon or a smaller one, unless "
        "label_leak_waiver says otherwise"
    ),
    "require_label_privacy": _either(
        "no training on columns is told labels of this site as they are: its job has [label_privacy]",
        "a job decides whether a training on columns has label privacy",
        "require_label_privacy",
    ),
    "max_sum_memory_mib": lambda policy: (
        "the guest of a job of trees (vertical_trees) may have this site keep so much memory for sums"
    ),
    "committee_members": _listed(
        "only these may be members of a committee", "anybody in a job may be a member", "committee_members"
    ),
    "min_committee_members": lambda policy: "a committee has at least so many members",
    "min_parties": lambda policy: "an opened sum holds at least so many parties' updates, this site's among them",
    "min_masked": lambda policy: (
        "every value of an update is masked"
        if policy.min_masked == 1
        else "a job may send the other values of every update to the aggregator in the clear, to compare"
    ),
    "exposed_embeddings": _either(
        "a job that masks a part may send tables of embeddings in the clear, which list the words of texts here",
        "tables of embeddings are masked whole, in jobs that mask a part too",
        "exposed_embeddings",
    ),
    "require_approval": _either(
        "every job has to be approved here first: hekat job approve",
        "jobs that name party keys have to be approved here first; others run on one machine alone",
        "require_approval",
    ),
    "approved_jobs": _listed(
        "only jobs of these digests run here", "no list: any job that fits the other lines", "approved_jobs"
    ),
}


def _say_columns(site: Site) -> Iterator[StatedLine]:
    tables: list[tuple[tuple[str, ...], Mapping[str, DataSource]]] = [(("common_data",), site.common_data)]
    tables += [(("party", name, "data"), party.data) for name, party in site.parties.items()]
    for place, sources in tables:
        for name, source in sources.items():
            where = f"[{toml_key(*place, name)}]"
            if source.allowed_columns is not None:
                names = ", ".join(source.allowed_columns) or "none"
                yield StatedLine(f"{where} allow_columns", names, "only these may be features of a job")
            if source.denied_columns:
                names = ", ".join(source.denied_columns)
                yield StatedLine(f"{where} deny_columns", names, "these are never features of a job")
