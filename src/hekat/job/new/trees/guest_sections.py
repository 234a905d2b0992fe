"""The sections of a new job of boosted trees across columns, and those that it shares with other jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from hekat.job.new.new_guest_job import NewGuestJob
from hekat.job.new.template_lines import chosen, default, example, setting
from hekat.job.trees.sections import task_of
from hekat.model.trees import TreeTraining
from hekat.protocol.psi.settings import DEFAULT_KEY_BITS, KINDS
from hekat.protocol.vertical_trees.settings import BIN_LEAK_ACCEPTED, VerticalTreesSettings

_WAIVER = "waives the limit on sums; most jobs need that; sites allow it: bin_leak_waiver"
_TRAINING = {
    "max_iter": "iterations, at most; each adds a tree, or one for each of three classes or more",
    "learning_rate": "what a leaf's value is multiplied with",
    "max_depth": "splits from root to leaf, at most",
    "max_leaf_nodes": "leaves of a tree, at most; unless said, no limit",
    "min_samples_leaf": "rows of a leaf, at least; across columns also of a host's bin that is summed",
    "l2_regularization": "added to a leaf's sum of second derivatives",
    "min_gain": "what a split has to gain more than",
    "min_child_weight": "a leaf's sum of second derivatives, at least",
    "max_bins": "bins of a column's values, 2 to 255; empty cells have one more",
    "gradient_bits": "of a gradient as it is summed by bin; leaves are finer",
    "rounding": 'of a gradient to these bits: "stochastic", "nearest"',
    "subsample": "part of the rows that an iteration uses",
    "max_features": "part of the columns that an iteration uses",
    "early_stopping": "rows held out of training end it once they no longer gain; without it all of max_iter",
    "validation_fraction": "part of the training rows held out for that; across rows where hold_out says none",
    "n_iter_no_change": "iterations without a gain that end training",
    "tol": "the least fall of their loss that counts as a gain",
    "seed": "of samples and of rounding; public",
}


def tree_sections(job: NewGuestJob) -> list[list[str]]:
    """Every section below the top, with its defaults."""
    settings = VerticalTreesSettings
    return [
        task_section(job.classes),
        training_section(),
        [
            "[protection]",
            setting(
                "kind", job.protection, settings.protection, '"lattice", "paillier"; "none" only where a site allows'
            ),
            default("key_bits", settings.key_bits, "bits of the guest's Paillier key: 2048, 3072")
            if job.protection == "paillier"
            else example("key_bits", settings.key_bits, 'bits of a Paillier key, with kind = "paillier": 2048, 3072'),
            default("hide_partition", settings.hide_partition, "hosts do not see rows of nodes; sites must allow it"),
            default("label_party_first_trees", 0, "so many first iterations use the guest's columns alone"),
            default(
                "max_level_sums", settings.max_level_sums, "sums of a level of a tree, at most: the guest's memory"
            ),
        ],
        [
            "[label_privacy]                          # docs/how_to/label_privacy.md",
            example("epsilon", 2.0, "labels are replaced once by chance: 1 is strong, 3 weak"),
        ],
        [
            "[bin_leak]                               # docs/explanation/trees.md",
            (chosen if job.waives_bin_leak else example)("accepted", BIN_LEAK_ACCEPTED, _WAIVER),
        ],
        *matching_sections(job),
        ["[prediction]", default("receivers", [job.guest], "who learns scores of new rows; the guest always does")],
        [
            "[compare]                                # what the report shows beside the encrypted run",
            default("centralised", False, "one machine only: plain trees on the joined rows; the site has to allow it"),
        ],
    ]


def task_section(classes: Sequence[str]) -> list[str]:
    """What is predicted, which the classes say already."""
    tasks = '"binary", "multiclass", "regression": as the classes have it'
    return ["[model]", default("task", task_of(tuple(classes) or None), tasks)]


def training_section(max_iter: int | None = None) -> list[str]:
    """How trees are grown, until held-out rows no longer gain: most tables have fewer rows than 100 trees can learn.

    `max_iter` where it is not to be the usual.
    """
    usual = TreeTraining()
    given = {"early_stopping": True, "max_iter": max_iter}
    lines = ["[training]"]
    for one in fields(TreeTraining):
        value, said = getattr(usual, one.name), _TRAINING[one.name]
        if given.get(one.name) is not None:
            lines.append(chosen(one.name, given[one.name], said))
        else:
            lines.append(example(one.name, 31, said) if value is None else default(one.name, value, said))
    return lines


def matching_sections(job: NewGuestJob) -> list[list[str]]:
    """How rows are matched, and which are measured on."""
    return [
        [
            "[intersection]                           # how rows are matched: docs/explanation/set_intersection.md",
            default("kind", KINDS[0], '"ecdh", "rsa_blind"; "aligned": rows are in one order already'),
            example("key_bits", DEFAULT_KEY_BITS, 'bits of the key that "rsa_blind" makes for the run'),
        ],
        [
            "[validation]",
            setting(
                "hold_out",
                job.hold_out,
                0.0,
                "fraction of the common rows to measure on and not to train on; not with test_data",
            ),
        ],
    ]
