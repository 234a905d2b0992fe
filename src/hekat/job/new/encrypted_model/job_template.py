"""The text of a new job file on an encrypted model: every setting with its default, its choices and its unit."""

from __future__ import annotations

from hekat.job.job_head import JOB_FORMAT, TIMEOUT_S_PER_PARTY
from hekat.job.new.column_sections import COLUMNS_COMMENT
from hekat.job.new.encrypted_model.new_job import ENCRYPTED_MODEL, NewEncryptedModelJob
from hekat.job.new.template_lines import chosen, default, example, setting
from hekat.protocol.encrypted_model.settings import EncryptedModelSettings

_COLUMNS = {"town": {"categories": ["Bonn", "Ulm"], "other": True, "fill": "other"}}


def encrypted_model_job_text(job: NewEncryptedModelJob) -> str:
    """The whole job file; it parses, and with its defaults uncommented it says the same."""
    sections = [_top(job), _model(job), _training(job), _validation(), _protection(job)]
    return "\n\n".join("\n".join(lines) for lines in sections) + "\n"


def _top(job: NewEncryptedModelJob) -> list[str]:
    roles = job.settings().everyone
    return [
        "# What is done together, by whom and how. The same file, letter by letter, lies at every role.",
        "# A line that begins with # and a name stands at its default: without the # it says the same.",
        chosen("format", JOB_FORMAT.newest, "of this file: docs/decisions/0028-formats-of-files.md"),
        chosen("name", job.name, "of this job, in reports"),
        chosen(
            "protocol", ENCRYPTED_MODEL, "hosts train a model that they cannot read; docs/how_to/encrypted_model.md"
        ),
        chosen("hosts", list(job.hosts), "have rows with the same columns, and train; 3 or more"),
        chosen("owner", job.owner, "alone gets the model; a host, or a role of its own"),
        chosen("aggregator", job.aggregator, "adds ciphertexts; has no key and no rows"),
        chosen("arbiter", job.arbiter, "holds the key, opens masked numbers; must work with nobody here"),
        chosen("data", job.data_name, "each host maps this name to its own rows: [party.NAME.data.THIS]"),
        example("test_data", job.test_name, "rows of the owner to measure on: [party.OWNER.data.THIS]"),
        chosen("classes", list(job.classes), "what labels can be; left out for a regression")
        if job.classes
        else example("classes", ["no", "yes"], "what labels can be; left out here: a regression"),
        setting(
            "allow_two_parties",
            job.allow_two_parties,
            EncryptedModelSettings.allow_two_parties,
            "true: two hosts accept that each learns the other's means and spreads",
        ),
        default("timeout_s", TIMEOUT_S_PER_PARTY * len(roles), "seconds to wait for a message; 120 for each role"),
        example("columns", _COLUMNS, COLUMNS_COMMENT),
        example("party_keys", {job.hosts[0]: "hekat-party-ed25519:..."}, "of every role: hekat keys party"),
    ]


def _model(job: NewEncryptedModelJob) -> list[str]:
    usual = "logistic" if job.classes else "linear"
    return [
        "[model]",
        setting("name", job.model, usual, '"logistic", by its Taylor form; "linear" where labels are numbers'),
        default("l2", 0.0, "penalty lambda >= 0 in loss + lambda/2 |w|^2"),
    ]


def _training(job: NewEncryptedModelJob) -> list[str]:
    training = job.settings().training
    return [
        "[training]",
        default("rounds", training.rounds, "how often the encrypted model goes to the hosts and back"),
        default(
            "local_epochs", training.local_epochs, "passes over a host's rows in a round; they cost no product more"
        ),
        default("batch_rows", training.batch_rows, "rows of a batch, drawn once and kept; 0: all"),
        default("learning_rate", training.learning_rate, "of a step, above 0"),
        default("optimiser", training.optimiser, '"momentum", "sgd"'),
        default("momentum", training.momentum, "0 to below 1: how much of its speed a weight keeps"),
        default("standardise", training.standardise, "mean and spread of each column, which hosts and owner learn"),
        default(
            "report_every", training.report_every, "rounds after which the owner is given a model; 0: the last alone"
        ),
        default("seed", training.seed, "of the batches, and of rows held out"),
    ]


def _validation() -> list[str]:
    what = "part of the rows of an owner that is a host, to measure on; not with test_data"
    return ["[validation]", default("hold_out", 0.0, what)]


def _protection(job: NewEncryptedModelJob) -> list[str]:
    kind = setting(
        "kind", job.protection, EncryptedModelSettings.protection, '"lattice", "paillier"; "none" in the clear'
    )
    if job.protection != "paillier":
        return ["[protection]", kind]
    size = default("key_bits", EncryptedModelSettings.key_bits, "bits of the arbiter's key: 2048, 3072")
    return ["[protection]", kind, size]
