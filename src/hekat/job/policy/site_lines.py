"""The section [policy] of a site file: what jobs may ask this site for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from hekat.channel import PartyPublicKey
from hekat.data.columns.specs import LEAST_ROWS_OF_FOUND, MOST_MIN_ROWS
from hekat.digest_text import is_digest
from hekat.errors import HekatError, JobError
from hekat.job.job_head import PLAYED_PROTOCOLS, PROTOCOLS
from hekat.job.section import Section
from hekat.protocol.horizontal.validation_settings import MAX_BINS
from hekat.protocol.secure_sum.settings import OPENINGS, PROTECTIONS
from hekat.protocol.vertical.label_privacy.randomised_response import MAX_EPSILON
from hekat.protocol.vertical.prediction_limit import MAX_PREDICTIONS
from hekat.protocol.vertical_linear.prediction.settings import LEAST_SCORE_BITS, MOST_SCORE_BITS, SCORE_BITS
from hekat.protocol.vertical_linear.settings import FORMS
from hekat.protocol.vertical_network.settings import FORMS as NETWORK_FORMS
from hekat.protocol.vertical_network.settings import SEALED, SHARED
from hekat.protocol.vertical_trees.host_side.sum_memory import SUM_MEMORY_MIB

MOST_VALUE_BITS = 40
"""The most bits of a value that any protocol takes: fixed_point.value_bits of a vertical job."""
MAX_LABEL_EPSILON = 3.0
"""An attack on a replaced label then has an AUC of at most 0.953."""


@dataclass(frozen=True)
class SitePolicy:
    """What the site allows; a job that asks for more is refused before a row is read or anything is sent.

    `protocols` and `models` are what jobs may do and train (models None: all that the site has). `averaging`, where an
    engine brings the code that trains, needs the site's leave.
    `openings` are the ways to open sums under `lattice`. Those with an authority or one shared key need the site's
    leave: there one role, or any party, could open single updates. `vertical_forms` are the forms of vertical
    regression: under `arbiter` a party sees its own gradients, and so equations on the labels, or at the guest on
    hosts' columns. `network_forms` are forms of split networks: `sealed` opens less than `shared`; under
    `guest_layer`, which is there to compare, the guest learns the outputs of each host by themselves.
    `label_leak_waiver` lets a job waive the limit on equations about labels, `column_leak_waiver` on equations
    about columns, `slope_leak_waiver` lets bottoms of hosts train in a split network, whose slopes tell them of
    others' columns, `bin_leak_waiver` on what sums of trees tell the guest of hosts' bins. `budget_waiver`
    lets jobs open exact sums of rows that have a privacy budget. `hide_partition` lets a
    job of trees keep from hosts which rows a node has, so that they cannot hold sums to a least number of rows.
    `joined_rows` lets this process put the parties' rows together for a comparison. `single_ids` lets a party of an
    intersection ask about one person. `server_learns_model` lets the server of an engine see the mean model.
    `model_owners` are those who alone may get a model of the rows here, in a training on an encrypted model: public
    keys, or, for jobs without, names; `max_reported_models` is how many models of one such training they may be
    given, the last one included. `max_rounds` bounds a horizontal job's rounds, comparisons included, a vertical
    regression's epochs, and the iterations of trees (None: no limit),
    `max_value_bits` the bits of one number in sums of updates that are opened and in gradients that a party sees,
    `max_validation_bins` the counters of held-out rows' scores. `min_category_rows` is the fewest rows of this site's
    table by which a text is shown to all parties, where these find categories together.
    `max_predictions` is how many rows may be predicted in all with a party's part of a vertical or encrypted model
    (None: as `rows_to_predict` says), and their scores are told to 2^-max_score_bits at the finest.
    `max_label_epsilon` is the largest epsilon by which labels may be replaced where hosts learn what follows from them;
    `require_label_privacy` lets no training on columns go without.
    `max_sum_memory_mib` is the memory that the guest of a job of trees may have this site keep for sums.
    `committee_members` are those with whom a committee is formed (None: anybody): public keys, as a job's party_keys
    have them, or, for jobs without, names. `min_committee_members` and `min_parties` are the fewest members of a
    committee and updates in a sum that the site takes part in.
    `min_masked` is the least part of an update's values that a job has to mask: 1.0 lets none go in the clear.
    `exposed_embeddings` lets tables of embeddings be among the others: rows that change are the words of texts here.
    `require_approval` asks for `hekat job approve` of jobs without party keys too; `approved_jobs` are the digests of
    the only jobs that may run here, hex (None: no such list).
    """

    protocols: tuple[str, ...] = PLAYED_PROTOCOLS
    protections: tuple[str, ...] = ("lattice", "paillier")
    openings: tuple[str, ...] = ("committee",)
    models: tuple[str, ...] | None = None
    min_key_bits: int = 2048
    exactness_check: bool = False
    vertical_forms: tuple[str, ...] = FORMS
    network_forms: tuple[str, ...] = (SHARED, SEALED)
    label_leak_waiver: bool = False
    column_leak_waiver: bool = False
    slope_leak_waiver: bool = False
    bin_leak_waiver: bool = False
    budget_waiver: bool = False
    hide_partition: bool = False
    joined_rows: bool = False
    single_ids: bool = False
    server_learns_model: bool = False
    model_owners: tuple[str, ...] = ()
    max_reported_models: int = 10
    max_rounds: int | None = None
    max_value_bits: int = MOST_VALUE_BITS
    max_validation_bins: int = MAX_BINS
    min_category_rows: int = LEAST_ROWS_OF_FOUND
    max_predictions: int | None = None
    max_score_bits: int = SCORE_BITS
    max_label_epsilon: float = MAX_LABEL_EPSILON
    require_label_privacy: bool = False
    max_sum_memory_mib: int = SUM_MEMORY_MIB
    committee_members: tuple[str, ...] | None = None
    min_committee_members: int = 2
    min_parties: int = 2
    min_masked: float = 1.0
    exposed_embeddings: bool = False
    require_approval: bool = False
    approved_jobs: tuple[str, ...] | None = None

    def rows_to_predict(self, usual: int = MAX_PREDICTIONS) -> int:
        """How many rows may be predicted in all with a part of a model; `usual` where the site says nothing."""
        return usual if self.max_predictions is None else self.max_predictions


# The numbers that a line may hold; None: no most.
_RANGES: Mapping[str, tuple[float, float | None, str]] = {
    "min_key_bits": (0, None, "number of bits"),
    "max_reported_models": (1, None, "number of models"),
    "max_rounds": (0, None, "number of rounds"),
    "max_value_bits": (1, MOST_VALUE_BITS, "number of bits of a value"),
    "max_validation_bins": (0, MAX_BINS, "number of bins"),
    "min_category_rows": (1, MOST_MIN_ROWS, "number of rows"),
    "max_predictions": (0, None, "number of rows"),
    "max_score_bits": (LEAST_SCORE_BITS, MOST_SCORE_BITS, "number of bits of a score"),
    "max_label_epsilon": (0, MAX_EPSILON, "epsilon of label privacy"),
    "max_sum_memory_mib": (1, None, "amount of memory in MiB"),
    "min_committee_members": (0, None, "number of members"),
    "min_parties": (0, None, "number of parties"),
    "min_masked": (0, 1, "part of all values"),
}


def read_policy(section: Section) -> SitePolicy:
    """What the section [policy] says. Raises JobError for a value that the line cannot have."""
    default = SitePolicy()
    policy = SitePolicy(
        protocols=_read_names(section, "protocols", PROTOCOLS, default.protocols),
        protections=_read_names(section, "protections", PROTECTIONS, default.protections),
        openings=_read_names(section, "openings", OPENINGS, default.openings),
        models=section.take_optional_texts("models"),
        min_key_bits=section.take("min_key_bits", int, default.min_key_bits),
        exactness_check=section.take("exactness_check", bool, default.exactness_check),
        vertical_forms=_read_names(section, "vertical_forms", FORMS, default.vertical_forms),
        network_forms=_read_names(section, "network_forms", NETWORK_FORMS, default.network_forms),
        label_leak_waiver=section.take("label_leak_waiver", bool, default.label_leak_waiver),
        column_leak_waiver=section.take("column_leak_waiver", bool, default.column_leak_waiver),
        slope_leak_waiver=section.take("slope_leak_waiver", bool, default.slope_leak_waiver),
        bin_leak_waiver=section.take("bin_leak_waiver", bool, default.bin_leak_waiver),
        budget_waiver=section.take("budget_waiver", bool, default.budget_waiver),
        hide_partition=section.take("hide_partition", bool, default.hide_partition),
        joined_rows=section.take("joined_rows", bool, default.joined_rows),
        single_ids=section.take("single_ids", bool, default.single_ids),
        server_learns_model=section.take("server_learns_model", bool, default.server_learns_model),
        model_owners=_read_keys_or_names(section, "model_owners") or (),
        max_reported_models=section.take("max_reported_models", int, default.max_reported_models),
        max_rounds=section.take_optional("max_rounds", int),
        max_value_bits=section.take("max_value_bits", int, default.max_value_bits),
        max_validation_bins=section.take("max_validation_bins", int, default.max_validation_bins),
        min_category_rows=section.take("min_category_rows", int, default.min_category_rows),
        max_predictions=section.take_optional("max_predictions", int),
        max_score_bits=section.take("max_score_bits", int, default.max_score_bits),
        max_label_epsilon=section.take("max_label_epsilon", float, default.max_label_epsilon),
        require_label_privacy=section.take("require_label_privacy", bool, default.require_label_privacy),
        max_sum_memory_mib=section.take("max_sum_memory_mib", int, default.max_sum_memory_mib),
        committee_members=_read_keys_or_names(section, "committee_members"),
        min_committee_members=section.take("min_committee_members", int, default.min_committee_members),
        min_parties=section.take("min_parties", int, default.min_parties),
        min_masked=section.take("min_masked", float, default.min_masked),
        exposed_embeddings=section.take("exposed_embeddings", bool, default.exposed_embeddings),
        require_approval=section.take("require_approval", bool, default.require_approval),
        approved_jobs=_read_digests(section),
    )
    section.finish()
    _check_ranges(policy, section.place)
    return policy


def policy_keys() -> tuple[str, ...]:
    """The name of every line, in the order of `SitePolicy`."""
    return tuple(item.name for item in fields(SitePolicy))


def is_key_line(text: str) -> bool:
    """Whether an entry of policy.committee_members or model_owners is a public key: no name of a role has a colon."""
    return ":" in text


def _check_ranges(policy: SitePolicy, place: str) -> None:
    for key, (least, most, what) in _RANGES.items():
        value = getattr(policy, key)
        if value is None or (least <= value and (most is None or value <= most)):
            continue
        none = " (none)" if key.startswith("max_") and least == 0 else ""
        raise JobError(
            f"{place}.{key} is no {what}",
            expected=f"{least}{none} or more" if most is None else f"{least} to {most}",
            got=str(value),
            cure="correct it in the site file",
        )


def _read_keys_or_names(section: Section, key: str) -> tuple[str, ...] | None:
    entries = section.take_optional_texts(key)
    for entry in filter(is_key_line, entries or ()):
        try:
            PartyPublicKey.from_line(entry)
        except HekatError as error:
            raise JobError(
                f"{section.place}.{key} holds what is neither a public party key nor a name",
                expected=error.expected,
                got=error.got,
                cure=error.cure,
            ) from error
    return entries


def _read_digests(section: Section) -> tuple[str, ...] | None:
    digests = section.take_optional_texts("approved_jobs")
    for digest in digests or ():
        if not is_digest(digest):
            raise JobError(
                f"{section.place}.approved_jobs holds what is no job's digest",
                expected="64 characters 0 to 9 and a to f, as hekat job digest JOB prints them",
                got=f"{len(digest)} characters",
                cure=f"correct {section.place}.approved_jobs in the site file",
            )
    return digests


def _read_names(section: Section, key: str, known: tuple[str, ...], default: tuple[str, ...]) -> tuple[str, ...]:
    names = section.take_optional_texts(key)
    for name in names or ():
        if name not in known:
            raise JobError(
                f"{section.place}.{key} names no {key.removesuffix('s').replace('_', ' ')}",
                expected=" or ".join(repr(one) for one in known),
                got=repr(name),
                cure=f"correct {section.place}.{key} in the site file",
            )
    return default if names is None else names
