"""The text of a new job file for a guest and its hosts: every setting with its default, its choices and its unit."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hekat.job.job_head import JOB_FORMAT, TIMEOUT_S_PER_PARTY
from hekat.job.new.column_sections import COLUMNS_COMMENT, column_sections
from hekat.job.new.network_sections import network_sections
from hekat.job.new.new_guest_job import NewGuestJob
from hekat.job.new.template_lines import chosen, default, example
from hekat.job.new.trees.columns import columns_for_trees
from hekat.job.new.trees.guest_sections import matching_sections, tree_sections
from hekat.protocol.psi.settings import DEFAULT_KEY_BITS, KINDS
from hekat.protocol.vertical_linear.prediction.settings import SCORE_BITS
from hekat.protocol.vertical_linear.settings import (
    COLUMN_LEAK_ACCEPTED,
    DEFAULT_LIMIT_SPREADS,
    LEAK_ACCEPTED,
    VerticalLinearSettings,
)
from hekat.protocol.vertical_linear.training_settings import (
    DEFAULT_EPOCHS,
    RULED_BATCH_ROWS,
    RULED_BATCH_ROWS_OF_SHARES,
    RULED_CALIBRATION_ROWS,
    RULED_EPOCHS_OF_NUMBERS,
    FixedPoint,
    LinearTraining,
)

_WHAT = {
    "vertical_linear": "parties have other columns of the same people; one of them has the labels",
    "vertical_trees": "parties have other columns of the same people; boosted trees are grown on all of them",
    "vertical_network": "parties have other columns of the same people; a network is split between them",
    "psi": "parties learn which ids they share, and nothing is trained",
}
_COLUMNS = {"town": {"categories": ["Bonn", "Ulm"], "other": True, "fill": "other"}}


def guest_job_text(job: NewGuestJob) -> str:
    """The whole job file; it parses, and with its defaults uncommented it says the same."""
    body = _BODIES[job.protocol](job)
    sections = [_top(job), *body]
    sections += column_sections(job.columns)
    return "\n\n".join("\n".join(lines) for lines in sections) + "\n"


def _top(job: NewGuestJob) -> list[str]:
    role_count = len(job.parties) + (job.arbiter is not None)
    lines = [
        "# What is done together, by whom and how. The same file, letter by letter, lies at every party.",
        "# A line that begins with # and a name stands at its default: without the # it says the same.",
        chosen("format", JOB_FORMAT.newest, "of this file: docs/decisions/0028-formats-of-files.md"),
        chosen("name", job.name, "of this job, in reports"),
        chosen("protocol", job.protocol, _WHAT[job.protocol]),
        chosen(
            "guest", job.guest, "has the labels, and compares its ids with each host's" if job.trains else "compares"
        ),
        chosen("hosts", list(job.hosts), "have other columns" if job.trains else "whom the guest compares with"),
    ]
    if job.is_regression:
        arbiter = "opens masked gradients, has no rows, and must not collude with any party"
        lines.append(
            example("arbiter", "arbiter", f"{arbiter}; none: weights in shares")
            if job.arbiter is None
            else chosen("arbiter", job.arbiter, arbiter)
        )
        what = "without an arbiter the two that hold all shares, and must not work together; these by default"
        lines.append(example("share_holders", list(job.parties[:2]), what))
    lines.append(chosen("data", job.data_name, "each site maps this name to its own rows: [party.NAME.data.THIS]"))
    if job.trains:
        lines += [
            example("test_data", "test-rows", "rows to measure on, matched and predicted for jointly"),
            chosen("classes", list(job.classes), "what labels can be; left out for a regression")
            if job.classes
            else example("classes", ["no", "yes"], "what labels can be; left out here: a regression"),
            *([default("sparse", False, "true: rows are held sparse at every party")] if job.is_regression else []),
            *(
                []
                if job.columns
                else [example("columns", columns_for_trees(_COLUMNS) if job.is_trees else _COLUMNS, COLUMNS_COMMENT)]
            ),
        ]
    lines.append(example("party_keys", {job.guest: "hekat-party-ed25519:..."}, "of every role: hekat keys party"))
    waits = "seconds to wait for a message; 120 for each role"
    return [*lines, default("timeout_s", TIMEOUT_S_PER_PARTY * role_count, waits)]


def _intersection_alone(job: NewGuestJob) -> list[list[str]]:
    lines = [
        "[intersection]                           # docs/explanation/set_intersection.md",
        default("kind", KINDS[0], '"ecdh", or "rsa_blind": blind signatures'),
        default("learns", list(job.parties), "who learns which of its ids are common to all"),
        default("cardinality_only", False, 'true: how many, and not which; one host and kind "ecdh" alone'),
        default("key_bits", DEFAULT_KEY_BITS, 'bits of the key that "rsa_blind" makes for the run'),
        default("allow_single", False, "true: a party may ask with one id, which is to ask about one person"),
    ]
    return [lines]


def _regression(job: NewGuestJob) -> list[list[str]]:
    return [
        _model(job),
        _training(job),
        _protection(job),
        *matching_sections(job),
        [
            "[prediction]",
            default("receivers", [job.guest], "who learns the scores of new rows; nobody else does"),
            default("score_bits", SCORE_BITS, "scores are told to 2^-score_bits; more need the site's leave"),
        ],
        [
            "[label_privacy]",
            example("epsilon", 2.0, "labels are replaced once by chance: 1 is strong, 3 weak"),
        ],
        [
            "[label_leak]",
            example(
                "accepted",
                LEAK_ACCEPTED,
                "waives the limit on equations; the site has to allow it: docs/explanation/vertical.md",
            ),
        ],
        [
            "[column_leak]",
            example("accepted", COLUMN_LEAK_ACCEPTED, "waives what limits the guest; the site has to allow it too"),
        ],
        _fixed_point(),
        [
            "[compare]                                # what the report shows beside the encrypted run",
            default("centralised", False, "one machine only: the joined rows, in floats; the site has to allow it"),
        ],
        [
            "[checks]",
            default(
                "exactness", False, "one machine only: every gradient against the exact one; the site has to allow it"
            ),
        ],
    ]


def _model(job: NewGuestJob) -> list[str]:
    training = LinearTraining()
    l1 = "penalty lambda >= 0 in loss + lambda |w|_1; with an arbiter alone"
    return [
        "[model]",
        chosen("name", job.model, '"logistic": by Taylor, docs/explanation/vertical.md; "linear": labels are numbers'),
        default("l1", training.l1, l1),
        default("l2", training.l2, "penalty lambda >= 0 in loss + lambda/2 |w|^2"),
    ]


def _training(job: NewGuestJob) -> list[str]:
    training = LinearTraining()
    optimisers = '"sgd", "momentum"' + (
        '; "adam", "rmsprop"' if job.arbiter is not None else "; others need an arbiter"
    )
    return [
        "[training]",
        default("epochs", _epochs(job), "passes over the common rows, at most"),
        default("batch_rows", _batch_rows(job), "rows in a batch, drawn once and kept; 0: all"),
        default("learning_rate", training.learning_rate, "of a step; 0: by rule, each party mixes its columns"),
        default("optimiser", training.optimiser, optimisers),
        example("optimiser_settings", {"decay": 0.01}, "of that optimiser, over its own defaults"),
        default("standardise", training.standardise, "mean 0 and spread 1 in each column, each party its own"),
        default(
            "limit_spreads",
            _limit_spreads(job),
            "set values further from the mean to it, in spreads; 0: none",
        ),
        default("patience", training.patience, "stop after so many epochs without gain; 0: never"),
        default("min_improvement", training.min_improvement, "the least fall of the loss that counts as gain"),
        default("stop_at_loss", training.stop_at_loss, "stop once the loss is no more than that; 0: never"),
        default("stop_when_settled", True, "end once three epochs moved the loss by 1e-5 of it at most"),
        default("seed", training.seed, "of the batches; public"),
        default(
            "calibration_rows",
            RULED_CALIBRATION_ROWS if _calibrates(job) else 0,
            "training rows whose scores the guest learns to fit probabilities; 0: none",
        ),
        default("reweight", _calibrates(job), "move weights to the log loss of these rows"),
    ]


def _limit_spreads(job: NewGuestJob) -> float:
    if job.arbiter is not None:
        return DEFAULT_LIMIT_SPREADS
    return DEFAULT_LIMIT_SPREADS if job.model == "logistic" else 0.0


def _epochs(job: NewGuestJob) -> int:
    return DEFAULT_EPOCHS if job.model == "logistic" else RULED_EPOCHS_OF_NUMBERS


def _batch_rows(job: NewGuestJob) -> int:
    return RULED_BATCH_ROWS_OF_SHARES if job.arbiter is None else RULED_BATCH_ROWS


def _calibrates(job: NewGuestJob) -> bool:
    return job.arbiter is None and job.model == "logistic" and len(job.hosts) == 1


def _protection(job: NewGuestJob) -> list[str]:
    form = "shared_weights" if job.arbiter is None else "arbiter"
    kinds = '"paillier"' if job.arbiter is None else '"paillier", "lattice": faster, in more bytes, without key_bits'
    return [
        "[protection]",
        default("form", form, '"shared_weights": no arbiter; "arbiter": it opens masked gradients'),
        default("kind", "paillier", f'{kinds}; "none" only where a site allows'),
        default("key_bits", VerticalLinearSettings.key_bits, "bits of a Paillier key: 2048, 3072"),
    ]


def _fixed_point() -> list[str]:
    fixed_point = FixedPoint()
    return [
        "[fixed_point]                            # the integers that stand for numbers; the defaults suit most tables",
        default("feature_bits", fixed_point.feature_bits, "bits after the point of a feature: 8 to 30"),
        default("value_bits", fixed_point.value_bits, "bits after the point of scores and residuals: 8 to 40"),
    ]


_BODIES: Mapping[str, Callable[[NewGuestJob], list[list[str]]]] = {
    "vertical_linear": _regression,
    "vertical_trees": tree_sections,
    "vertical_network": network_sections,
    "psi": _intersection_alone,
}
