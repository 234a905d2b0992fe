"""The text of a new job file: every setting with its default, its choices and its unit."""

from __future__ import annotations

from dataclasses import replace

from hekat.job.horizontal.default_algorithm import default_rounds, default_value_bits
from hekat.job.job_head import JOB_FORMAT, TIMEOUT_S_PER_PARTY
from hekat.job.new.column_sections import COLUMNS_COMMENT, column_sections
from hekat.job.new.new_job import NET_MODULE, NewJob
from hekat.job.new.template_lines import chosen, default, example, setting
from hekat.job.new.trees.columns import columns_for_trees
from hekat.job.new.trees.row_sections import row_tree_sections
from hekat.model import MODEL_NAMES, NETWORKS
from hekat.protocol.horizontal.settings import (
    PENALTY_OF_LINEAR_MODELS,
    PENALTY_OF_NETWORKS,
    HorizontalSettings,
    ModelSettings,
    TrainingSettings,
)
from hekat.protocol.horizontal.validation_settings import ValidationSettings
from hekat.protocol.horizontal_trees.settings import HorizontalTreesSettings
from hekat.protocol.secure_sum.settings import CodecSettings

_MODELS = {
    "logistic": "logistic regression",
    "mlp": "a network with the layers of `hidden`",
    "linear": "linear regression: labels are numbers",
    "torch": f"PyTorch code of yours, in {NET_MODULE}.py; the site file says where",
}
_WHAT = {
    "horizontal": "parties have the same columns and different rows",
    "horizontal_trees": "parties have the same columns and different rows; boosted trees are grown on all of them",
}
_MIN_PARTIES = "of a sum that is opened, at least; 0: all. Fewer: training goes on without one that is lost"
_DEFAULTS = {name: field.default for name, field in HorizontalSettings.__dataclass_fields__.items()}


def job_text(job: NewJob) -> str:
    """The whole job file; it parses, and with its defaults uncommented it says the same."""
    if job.is_trees:
        sections = [_top(job), *row_tree_sections(job, _protection(job))]
    else:
        body = [_model(job), _training(job), _validation(job), _codec(job), _protection(job), _compare(job)]
        sections = [_top(job), *body]
    sections += column_sections(job.columns)
    return "\n\n".join("\n".join(lines) for lines in sections) + "\n"


def _top(job: NewJob) -> list[str]:
    test_comment = "a common test set at every site: [common_data.THIS]"
    columns = {"town": {"categories": ["Bonn", "Ulm"], "other": True, "fill": "other"}}
    return [
        "# What is trained together, by whom and how. The same file, letter by letter, lies at every party.",
        "# A line that begins with # and a name stands at its default: without the # it says the same.",
        chosen("format", JOB_FORMAT.newest, "of this file: docs/decisions/0028-formats-of-files.md"),
        chosen("name", job.name, "of this job, in reports"),
        chosen("protocol", job.protocol, _WHAT[job.protocol]),
        chosen("parties", list(job.parties), "who trains; 3 or more"),
        chosen("aggregator", job.aggregator, "who adds updates that it cannot read; has no rows"),
        chosen("data", job.data_name, "each site maps this name to its own rows: [party.NAME.data.THIS]"),
        chosen("test_data", job.test_name, test_comment)
        if job.has_test_data
        else example("test_data", job.test_name, test_comment),
        chosen("classes", list(job.classes), "what labels can be; left out for a regression")
        if job.classes
        else example("classes", ["no", "yes"], "what labels can be; left out here: a regression"),
        chosen("weight_max", job.weight_max, "rows; a public bound on every party's row count"),
        setting(
            "allow_two_parties",
            job.allow_two_parties,
            _DEFAULTS["allow_two_parties"],
            "true: two parties accept that each learns the other's update",
        ),
        *([default("min_parties", HorizontalTreesSettings.min_parties, _MIN_PARTIES)] if job.is_trees else []),
        default(
            "timeout_s", TIMEOUT_S_PER_PARTY * len(job.parties), "seconds to wait for a message; 120 for each party"
        ),
        *([] if job.is_trees else [default("sparse", False, "true: rows are held sparse at every party")]),
        *(
            []
            if job.columns
            else [example("columns", columns_for_trees(columns) if job.is_trees else columns, COLUMNS_COMMENT)]
        ),
        example("party_keys", {job.parties[0]: "hekat-party-ed25519:..."}, "of every role: hekat keys party"),
    ]


def _model(job: NewJob) -> list[str]:
    model = ModelSettings()
    lines = ["[model]", chosen("name", job.model_name, f'"logistic", "mlp", "linear" or code; {_MODELS[job.model]}')]
    if job.model == "mlp":
        lines.append(chosen("hidden", [16], "sizes of the hidden layers, from input to output"))
    else:
        lines.append(default("hidden", list(model.hidden), 'sizes of hidden layers, for "mlp" alone'))
    return [
        *lines,
        default("parameters", list(model.parameters), 'tensors that are trained and sent, such as ["lora_*"]; []: all'),
        example(
            "l2",
            0.01,
            "penalty lambda >= 0 in loss + lambda/2 |w|^2; without it for classes in lbfgs "
            f"{PENALTY_OF_NETWORKS if job.model in NETWORKS else PENALTY_OF_LINEAR_MODELS} / rows, or 0",
        ),
        default("seed", model.seed, "of the first weights; equal at all parties"),
    ]


def _training(job: NewJob) -> list[str]:
    training, algorithm = TrainingSettings(), _algorithm_of(job)
    rounds = default_rounds(algorithm, job.model)
    return [
        "[training]",
        # Said and not left to the default: then a rate or a batch beside it is refused, and means no other algorithm.
        chosen("algorithm", algorithm, '"lbfgs": finds its steps; "fedavg", "fedprox", "scaffold", "fedsgd"'),
        setting("rounds", job.rounds or rounds, rounds, "how often updates are summed, at most"),
        default("local_epochs", training.local_epochs, "passes over its own rows in a round; not for lbfgs, fedsgd"),
        default("batch_rows", training.batch_rows, "rows in a mini-batch; 0: all; not for lbfgs"),
        default(
            "learning_rate", training.learning_rate, "of local steps; for fedsgd, of the common step; not for lbfgs"
        ),
        example("proximal_mu", training.proximal_mu, "for fedprox alone, where it is the default: pull to the mean"),
        default(
            "optimiser", training.optimiser, '"sgd", "momentum", "adam", "yogi", "adagrad", "rmsprop": common step'
        ),
        example("optimiser_settings", {"learning_rate": 0.1}, "of that optimiser, over its own defaults"),
        default("standardise", training.standardise, "mean 0 and spread 1 in each column, from encrypted sums"),
        default("participation", training.participation, "part of the parties that trains in a round, above 0 to 1"),
        default("min_parties", training.min_parties, "least updates in a sum that is opened; 0: the protection's own"),
        default("patience", training.patience, "stop after so many rounds without gain; 0: never"),
        default("min_improvement", training.min_improvement, "the least fall of the loss that counts as gain"),
        default("stop_at_loss", training.stop_at_loss, "stop once the loss is no more than that; 0: never"),
        default("error_feedback", training.error_feedback, "add what clipping and rounding took to the next update"),
        default("keep", training.keep, "share of the values that is sent in a round; below 1 not for lbfgs, scaffold"),
        example("keep_by", training.keep_by, '"vote", "top_k", "random_k": how parties agree which, for keep below 1'),
        default("seed", training.seed, "of the order of rows"),
    ]


def _validation(job: NewJob) -> list[str]:
    validation = ValidationSettings()
    return [
        "[validation]                             # on rows that every party holds out; sums over all are told",
        setting(
            "hold_out",
            job.hold_out,
            validation.hold_out,
            "part of each party's rows, up to 0.9; 0: none, then no validation",
        ),
        example(
            "folds", 5, "in place of hold_out: so many models more, each measured on the part it was not trained on"
        ),
        default("every", validation.every, "rounds between validations"),
        example("auc", False, "false: scores are not counted; else they are, where there are classes"),
        default("bins", validation.bins, "of scores, for the AUC: 2 to 4096"),
    ]


def _algorithm_of(job: NewJob) -> str:
    return "lbfgs" if job.model in MODEL_NAMES else TrainingSettings().algorithm


def _codec(job: NewJob) -> list[str]:
    codec = replace(CodecSettings(), value_bits=default_value_bits(_algorithm_of(job)))
    return [
        "[codec]                                  # how numbers travel; the defaults suit most models",
        default("value_bits", codec.value_bits, "bits of one value: 1 to 32; 8, 16 and 32 are usual"),
        default("layout", codec.layout, '"balanced"; under paillier also "offset", "two_sign_bits"'),
        default("rounding", codec.rounding, '"nearest" or "stochastic"'),
        default("clipping", codec.clipping, '"adaptive": follows encrypted counts; "fixed": alpha; "daciq"'),
        example("alpha", 0.01, 'the bound for "fixed", the first bound for "adaptive"'),
        default("target_clipped_fraction", codec.target_clipped_fraction, "of all values, for adaptive"),
        example("max_norm", 10.0, "the longest update; parties scale theirs to it, and refuse a longer mean"),
    ]


def _protection(job: NewJob) -> list[str]:
    kinds = '"lattice", "paillier"; "none" only where a site allows'
    kind = setting("kind", job.protection, _DEFAULTS["protection"], kinds)
    if job.protection == "paillier":
        size = default("key_bits", _DEFAULTS["key_bits"], "bits of the one key that all parties share: 2048, 3072")
        return ["[protection]", kind, size]
    opening = default("opening", _DEFAULTS["opening"], 'who opens sums: "committee", "authority", "shared"')
    authority = example("authority", "notary", 'who opens, with opening = "authority"')
    check = default("check_sum", _DEFAULTS["check_sum"], "whether parties check that a sum is the sum of the uploads")
    lines = ["[protection]", kind, opening, authority, check]
    if not job.is_trees:
        lines.append(default("masked", 1.0, "less only to compare, where sites allow it: docs/how_to/selective.md"))
    return lines


def _compare(job: NewJob) -> list[str]:
    return [
        "[compare]                                # what the report shows beside the encrypted run",
        setting("alone", job.has_test_data, False, "each party trains by itself too; needs test_data"),
        default("plain", False, 'the same without encryption too; the site has to allow "none"'),
        default("bits", [], "other codec.value_bits to train at as well, such as [8, 32]; at most 4"),
        "",
        "[checks]",
        default("exactness", False, "one machine only: every sum against the float one; the site has to allow it"),
    ]
